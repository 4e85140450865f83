"""The providers of models: their names in players (`mistral:…`), and what a worker needs to call them.

The names are pydantic-ai's and the variables the providers' own; a test compares this table with the installed
release. Custom servers are not here: `DEBATE_ENDPOINTS` names them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    keys: tuple[str, ...]
    """Variables of which one must be set; none where no key is needed."""
    address: str | None = None
    """The variable of its base URL."""
    address_is_needed: bool = False
    address_replaces_key: bool = False
    also: tuple[str, ...] = ()
    """Further variables that must be set."""
    extra: str = "openai"
    """The extra of pydantic-ai-slim that installs its client."""
    package: str = "openai"
    """The Python package of its client."""


PROVIDERS = {
    "openai": Provider(("OPENAI_API_KEY",), "OPENAI_BASE_URL", address_replaces_key=True),
    "anthropic": Provider(("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", extra="anthropic", package="anthropic"),
    "google": Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), extra="google", package="google.genai"),
    "groq": Provider(("GROQ_API_KEY",), "GROQ_BASE_URL", extra="groq", package="groq"),
    "mistral": Provider(("MISTRAL_API_KEY",), extra="mistral", package="mistralai"),
    "openrouter": Provider(("OPENROUTER_API_KEY",)),
    "deepseek": Provider(("DEEPSEEK_API_KEY",)),
    "xai": Provider(("XAI_API_KEY",), extra="xai", package="xai_sdk"),
    "bedrock": Provider(
        ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"), extra="bedrock", package="boto3"
    ),
    "azure": Provider(("AZURE_OPENAI_API_KEY",), "AZURE_OPENAI_ENDPOINT", address_is_needed=True),
    "ollama": Provider((), "OLLAMA_BASE_URL", address_is_needed=True),
    "vllm": Provider((), "VLLM_BASE_URL", address_is_needed=True),
    "alibaba": Provider(("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    "cerebras": Provider(("CEREBRAS_API_KEY",)),
    "cohere": Provider(("CO_API_KEY",), "CO_BASE_URL", extra="cohere", package="cohere"),
    "crusoe": Provider(("CRUSOE_API_KEY",)),
    "fireworks": Provider(("FIREWORKS_API_KEY",)),
    "google-cloud": Provider(
        ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"),
        extra="google",
        package="google.genai",
    ),
    "heroku": Provider(("HEROKU_INFERENCE_KEY",), "HEROKU_INFERENCE_URL"),
    "huggingface": Provider(("HF_TOKEN",), extra="huggingface", package="huggingface_hub"),
    "meta": Provider(("META_API_KEY",)),
    "moonshotai": Provider(("MOONSHOTAI_API_KEY",), "MOONSHOTAI_BASE_URL"),
    "nebius": Provider(("NEBIUS_API_KEY",)),
    "ovhcloud": Provider(("OVHCLOUD_API_KEY",)),
    "sambanova": Provider(("SAMBANOVA_API_KEY",), "SAMBANOVA_BASE_URL"),
    "snowflake": Provider(("SNOWFLAKE_TOKEN",), also=("SNOWFLAKE_ACCOUNT",)),
    "together": Provider(("TOGETHER_API_KEY",)),
    "vercel": Provider(("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN")),
    "zai": Provider(("ZAI_API_KEY",)),
}

NO_PLAYERS = {
    "openai-chat": "is another name of openai",
    "openai-responses": "is another API of openai",
    "azure-responses": "is another API of azure",
    "bedrock-mantle": "is another API of bedrock",
    "openai-decisions": "does not hold a conversation",
    "openai-codex": "needs a person to sign in",
    "openai-chatgpt": "needs a person to sign in",
    "github-copilot": "needs a person to sign in",
    "github": "was discontinued by its provider",
    "litellm": "has no environment variables of its own: add its server to DEBATE_ENDPOINTS",
    "elevenlabs": "produces speech, not text",
    "voyageai": "makes embeddings",
    "sentence-transformers": "makes embeddings",
    "system-one": "does not hold a conversation",
    "typesafe": "does not hold a conversation",
}
"""Names of pydantic-ai that no seat can have, and why."""


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """What can fill a seat, and what is missing for it."""

    name: str
    player: str
    """The player's name in a seat; `<model>` is a placeholder for a model's name."""
    is_ready: bool
    missing: tuple[str, ...]
    models: tuple[str, ...] = ()
    """The players that are known by name; there may be more."""


def endpoint_key(name: str) -> str:
    """The variable with the key of an endpoint."""
    return f"{name.upper().replace('-', '_')}_API_KEY"
