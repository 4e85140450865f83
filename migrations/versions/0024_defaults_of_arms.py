"""Specs with arms lose the options beside the arms, which had no effect."""

from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Since this version they apply to each arm that does not state its own. The debates of these experiments ran
    without them, so their specs must not claim them. The version before ignores the keys, and so does not miss them."""
    op.execute(
        "UPDATE experiments SET spec = spec - '{prompts,language,document_visible_to}'::text[] WHERE spec ? 'arms'"
    )


def downgrade() -> None:
    """The keys had no effect."""
