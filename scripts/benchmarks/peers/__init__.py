"""What people would use instead, on the same work. `dbos_debates` and `langgraph_debates` run in a separate
environment (requirements-peers.lock) and import nothing of ours but `side`; `beside` starts them and keeps the time."""
