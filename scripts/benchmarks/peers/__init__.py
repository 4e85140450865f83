"""What people would use instead, on the same work. `dbos_debates` and `langgraph_debates` run in an environment of
their own (requirements-peers.lock) and import nothing of ours but `side`; `beside` starts them and keeps the time."""
