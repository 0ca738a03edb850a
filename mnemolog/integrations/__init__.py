"""Other frameworks' memory, kept by mnemolog: each module is for one framework, which its extra installs.

`langgraph` is a store for LangGraph, and `langgraph_items` what an item of it is as a document; `langchain` has tools
and a retriever, and `openai_agents` tools. They speak to a server by the client. Importing one imports its framework,
and nothing else here does.
"""
