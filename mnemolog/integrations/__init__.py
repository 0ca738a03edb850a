"""Integrations with other frameworks, whose memory mnemolog stores: one module for each, installed by an extra.

`langgraph` is a store for LangGraph, and `langgraph_items` maps its items to documents; `langchain` has tools and a
retriever, and `openai_agents` has tools. They reach a server through the client. Only the module of a framework imports
that framework.
"""
