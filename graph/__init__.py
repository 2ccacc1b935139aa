"""The state graph: wiring, routing, and the front door."""
