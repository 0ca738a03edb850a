"""Memory of other frameworks, stored in mnemolog: one module for each framework, which an extra installs.

`langgraph` is a store for LangGraph, and `langgraph_items` maps its items to documents; `langchain` has tools and a
retriever, and `openai_agents` has tools. They reach a server through the client. Importing a module imports its
framework; nothing else here does.
"""
