-- What the columns mean is written in app/store/tables.py and its neighbors.

-- Dear to Postgres' planner, so that it is looked up in the index and never worked out for every title. And not declared
-- safe in parallel: starting a second process for a search takes longer than the search.
CREATE FUNCTION title_grams(title text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT COST 1000 AS $$ SELECT array_to_tsvector(ARRAY(SELECT substr(title, place, 3) FROM generate_series(1, length(title)) place)) $$;

-- Every gram of three characters must be there. Of less than three, a gram that begins with them.
CREATE FUNCTION title_search(part text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT AS $$
SELECT string_agg(quoted || CASE WHEN length(part) < 3 THEN ':*' ELSE '' END, ' & ')::tsquery
FROM generate_series(1, greatest(length(part) - 2, 1)) place,
     LATERAL (SELECT '''' || replace(replace(substr(part, place, 3), '\', '\\'), '''', '''''') || '''') gram (quoted)
$$;

-- A turn is stored whatever its text is. A `tsvector` of more than a megabyte would be an error: 50,000 characters are
-- 200,000 bytes, and the parser makes at most twice of them (compound words and their parts) with four bytes for each
-- word's place. Words of more than 2,047 bytes are left out by Postgres itself. Without the replacements the parser
-- would take `app/store` and `end.Next` for one word each, the name of a file and of a host.
CREATE FUNCTION turn_words(content text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT to_tsvector('simple'::regconfig, replace(replace(left(content, 50000), '/', ' '), '.', ' ')) $$;

-- Words with all these beginnings. NULL, which matches nothing, where there is no word.
CREATE FUNCTION turn_search(words text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT AS $$
SELECT string_agg('''' || replace(replace(word, '\', '\\'), '''', '''''') || ''':*', ' & ')::tsquery
FROM unnest(tsvector_to_array(turn_words(words))) AS word
$$;

CREATE FUNCTION debate_labels(seats jsonb, tags text[]) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
SELECT ARRAY(
    SELECT 'player:' || (seat.value ->> 'player') FROM jsonb_each(seats) AS seat
    UNION SELECT 'tag:' || tag FROM unnest(tags) AS tag
)
$$;

CREATE TABLE materials (
    hash bytea PRIMARY KEY,
    document text NOT NULL,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE debates (
    id uuid PRIMARY KEY,
    title text NOT NULL,
    debate_type text NOT NULL,
    format text NOT NULL,
    status text NOT NULL,
    next_round integer NOT NULL,
    next_actor text NOT NULL,
    intervention_open boolean NOT NULL DEFAULT false,
    stop_reason text,
    stop_note text,
    last_error text,
    seats jsonb NOT NULL,
    limits jsonb NOT NULL,
    turn_count integer NOT NULL,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_usd double precision NOT NULL DEFAULT 0,
    verdict jsonb,
    claim_token uuid,
    claimed_by text,
    claim_expires_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    due_at timestamptz,
    queued_at timestamptz,
    deadline_at timestamptz,
    seconds_left double precision,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text,
    client_request_id text,
    share text NOT NULL DEFAULT '',
    settled_token uuid,
    interrupted_actor text,
    closing text,
    standing jsonb,
    verdict_scope text,
    verdict_confidence double precision,
    language text,
    prompts text,
    prompts_hash text,
    waits_for_start boolean NOT NULL DEFAULT false,
    forked_from uuid,
    forked_after_seq integer,
    material jsonb,
    document_hash bytea REFERENCES materials (hash),
    tags text[] NOT NULL DEFAULT '{}',
    experiment_id uuid,
    waiting_until timestamptz,
    CONSTRAINT debates_closed_has_reason CHECK ((status IN ('completed', 'stopped')) = (stop_reason IS NOT NULL)),
    CONSTRAINT debates_format_known CHECK (
        format IN ('rounds', 'dialogue', 'final_ruling', 'simultaneous', 'interactive', 'consultancy', 'direct')
    ),
    CONSTRAINT debates_next_actor_known CHECK (next_actor IN ('debater_a', 'debater_b', 'judge')),
    CONSTRAINT debates_next_attempt_readable CHECK (next_attempt_at < '9999-01-01 00:00:00+00'),
    CONSTRAINT debates_next_round_positive CHECK (next_round >= 1),
    CONSTRAINT debates_status_known CHECK (
        status IN ('created', 'running', 'paused', 'completed', 'stopped', 'failed')
    )
);
CREATE INDEX debates_by_document ON debates (document_hash) WHERE document_hash IS NOT NULL;
CREATE INDEX debates_by_standing ON debates (debate_type, format, status, next_actor, next_round, intervention_open);
CREATE INDEX debates_by_status_and_update ON debates (status, updated_at DESC, id);
CREATE INDEX debates_by_update ON debates (updated_at DESC, id);
CREATE INDEX debates_by_winner ON debates ((verdict ->> 'winner'), updated_at DESC, id) WHERE verdict_scope = 'debate';
CREATE INDEX debates_due_by_share ON debates (share, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX debates_of_experiment ON debates (experiment_id, updated_at DESC, id) WHERE experiment_id IS NOT NULL;
CREATE UNIQUE INDEX debates_one_per_request ON debates (created_by, client_request_id) WHERE created_by IS NOT NULL;
CREATE INDEX debates_open_by_actor ON debates (next_actor, updated_at DESC, id)
    INCLUDE (next_round, intervention_open) WHERE status NOT IN ('completed', 'stopped');
CREATE INDEX debates_to_join ON debates (updated_at DESC, id)
    WHERE status IN ('created', 'running') AND next_actor = 'debater_b' AND next_round = 1
      AND seats -> 'opponent' ->> 'player' = 'external' AND seats -> 'opponent' ->> 'agent_id' IS NULL
      AND seats -> 'opponent' ->> 'held_by' IS NULL AND NOT (status = 'created' AND waits_for_start);
CREATE INDEX debates_with_error ON debates (updated_at DESC, id) WHERE last_error IS NOT NULL;

CREATE TABLE debate_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    debate_id uuid NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    by text,
    about jsonb
);
CREATE INDEX debate_events_of_debate ON debate_events (debate_id, at, id);

CREATE TABLE debate_titles (
    debate_id uuid PRIMARY KEY REFERENCES debates (id) ON DELETE CASCADE,
    title text NOT NULL,
    labels text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX debate_titles_by_gram ON debate_titles USING gin (title_grams(title)) WITH (gin_pending_list_limit = 256);
CREATE INDEX debate_titles_by_label ON debate_titles USING gin (labels) WITH (gin_pending_list_limit = 256);

CREATE TABLE agents (
    id uuid PRIMARY KEY,
    username text NOT NULL,
    display_name text,
    key_hash bytea NOT NULL,
    key_hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    key_created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at timestamptz,
    CONSTRAINT agents_one_per_key UNIQUE (key_hash),
    CONSTRAINT agents_scopes_known CHECK (scopes <@ ARRAY['read', 'debate', 'arbitrate'])
);
CREATE UNIQUE INDEX agents_one_per_username ON agents (lower(username));

CREATE TABLE turns (
    id uuid PRIMARY KEY,
    debate_id uuid NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    seq integer NOT NULL,
    round integer,
    actor text NOT NULL,
    type text NOT NULL,
    content text NOT NULL,
    parent_id uuid,
    client_request_id text,
    verdict jsonb,
    player text NOT NULL,
    usage jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    agent_id uuid REFERENCES agents (id),
    agent_username text,
    verdict_scope text,
    verdict_confidence double precision,
    prompts_hash text,
    context_shortened boolean NOT NULL DEFAULT false,
    quotes jsonb,
    worker text,
    claim uuid,
    CONSTRAINT turns_one_per_seq UNIQUE (debate_id, seq),
    CONSTRAINT turns_one_per_slot UNIQUE (debate_id, round, actor),
    CONSTRAINT turns_actor_known CHECK (actor IN ('debater_a', 'debater_b', 'judge')),
    CONSTRAINT turns_agent_has_a_name CHECK ((agent_id IS NULL) = (agent_username IS NULL)),
    CONSTRAINT turns_outside_the_order CHECK (
        CASE type WHEN 'INTERVENTION' THEN round IS NULL WHEN 'RULING' THEN true ELSE round IS NOT NULL END
    ),
    CONSTRAINT turns_seq_positive CHECK (seq >= 1),
    CONSTRAINT turns_type_known CHECK (
        type IN ('MOTION', 'CLAIM', 'APPEAL', 'RULING', 'INTERVENTION', 'RESOLUTION', 'QUESTION')
    )
);
CREATE UNIQUE INDEX turns_one_per_request_of_caller
    ON turns (debate_id, client_request_id, coalesce(agent_id::text, actor)) WHERE client_request_id IS NOT NULL;

CREATE TABLE indexed_turns (
    debate_id uuid REFERENCES debates (id) ON DELETE CASCADE,
    seq integer,
    words tsvector NOT NULL,
    PRIMARY KEY (debate_id, seq)
);
CREATE INDEX indexed_turns_by_word ON indexed_turns USING gin (words) WITH (gin_pending_list_limit = 1024);

CREATE TABLE text_index (
    is_only_row boolean PRIMARY KEY DEFAULT true,
    indexed_until timestamptz NOT NULL,
    next_pass_at timestamptz NOT NULL,
    CONSTRAINT text_index_has_one_row CHECK (is_only_row)
);

CREATE TABLE exchanges (
    turn_id uuid REFERENCES turns (id) ON DELETE CASCADE,
    number integer,
    judge_order text,
    system text NOT NULL,
    document_hash text,
    messages jsonb NOT NULL,
    settings jsonb NOT NULL,
    model text NOT NULL,
    answer text NOT NULL,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (turn_id, number)
);
CREATE INDEX exchanges_by_time ON exchanges (created_at);

CREATE TABLE prompt_sets (
    name text,
    hash text,
    base text NOT NULL,
    files jsonb NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (name, hash)
);
CREATE INDEX prompt_sets_by_hash ON prompt_sets (hash);

CREATE TABLE sessions (
    hash bytea PRIMARY KEY,
    expires_at timestamptz NOT NULL
);

CREATE TABLE invitations (
    id uuid PRIMARY KEY,
    debate_id uuid NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    invited_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    issuer_id uuid REFERENCES agents (id),
    issuer_key bytea,
    revoked_at timestamptz,
    CONSTRAINT invitations_one_per_token UNIQUE (token_hash),
    CONSTRAINT invitations_role_known CHECK (role IN ('proposer', 'opponent', 'arbitrator', 'watcher'))
);
CREATE INDEX invitations_by_debate ON invitations (debate_id);

CREATE TABLE guest_sessions (
    hash bytea PRIMARY KEY,
    invitation_id uuid NOT NULL REFERENCES invitations (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX guest_sessions_by_invitation ON guest_sessions (invitation_id);

CREATE TABLE webhooks (
    id uuid PRIMARY KEY,
    url text NOT NULL,
    events text[] NOT NULL,
    description text,
    secret text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    disabled_at timestamptz,
    disabled_reason text
);

CREATE TABLE webhook_deliveries (
    id uuid PRIMARY KEY,
    number bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    debate_id uuid,
    event text NOT NULL,
    data jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    last_status integer,
    last_error text,
    claim_token uuid
);
CREATE INDEX webhook_deliveries_by_number ON webhook_deliveries (webhook_id, number);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, debate_id, number) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_due_by_number ON webhook_deliveries (webhook_id, number) WHERE due_at IS NOT NULL;

CREATE TABLE worker_leases (
    worker_id text PRIMARY KEY,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    players jsonb
);

CREATE TABLE workers (
    id text PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE providers (
    name text PRIMARY KEY,
    lowered_to integer,
    lowered_at timestamptz
);

CREATE TABLE provider_slots (
    provider text,
    worker_id text,
    held integer NOT NULL,
    wanted integer NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (provider, worker_id)
);

CREATE TABLE model_calls (
    id uuid PRIMARY KEY,
    claim uuid NOT NULL,
    worker_id text NOT NULL,
    debate_id uuid,
    judgment_id uuid,
    input_tokens bigint NOT NULL,
    cost_usd double precision NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    charged_at timestamptz,
    CONSTRAINT model_calls_one_pays CHECK ((debate_id IS NULL) <> (judgment_id IS NULL))
);
CREATE INDEX model_calls_by_claim ON model_calls (claim);

CREATE TABLE daily_costs (
    day date PRIMARY KEY,
    reserved_usd double precision NOT NULL DEFAULT 0,
    spent_usd double precision NOT NULL DEFAULT 0,
    unpriced_calls integer NOT NULL DEFAULT 0
);

CREATE TABLE agent_quotas (
    agent_id uuid REFERENCES agents (id),
    day date,
    bytes bigint NOT NULL DEFAULT '0',
    usd double precision NOT NULL DEFAULT '0',
    PRIMARY KEY (agent_id, day)
);

CREATE TABLE judgments (
    id uuid PRIMARY KEY,
    debate_id uuid NOT NULL REFERENCES debates (id) ON DELETE CASCADE,
    judge text NOT NULL,
    "order" text NOT NULL,
    repeat integer NOT NULL DEFAULT 1,
    setup jsonb NOT NULL,
    status text NOT NULL,
    verdict jsonb,
    error text,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_usd double precision NOT NULL DEFAULT 0,
    latency_ms integer,
    experiment_id uuid,
    share text NOT NULL DEFAULT '',
    claim_token uuid,
    claimed_by text,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    judged_at timestamptz,
    prompts_hash text,
    asked_by text,
    CONSTRAINT judgments_one_per_key UNIQUE NULLS NOT DISTINCT (debate_id, judge, "order", repeat, experiment_id),
    CONSTRAINT judgments_order_known CHECK ("order" IN ('as_spoken', 'swapped')),
    CONSTRAINT judgments_repeat_positive CHECK (repeat >= 1),
    CONSTRAINT judgments_status_known CHECK (status IN ('planned', 'completed', 'failed')),
    CONSTRAINT judgments_verdict_is_whole CHECK (
        (status = 'completed') = (verdict IS NOT NULL) AND (status = 'planned' OR due_at IS NULL)
    )
);
CREATE INDEX judgments_by_hand ON judgments (debate_id) WHERE experiment_id IS NULL;
CREATE INDEX judgments_due ON judgments ((experiment_id IS NOT NULL), due_at) WHERE due_at IS NOT NULL;
CREATE INDEX judgments_of_experiment ON judgments (experiment_id, status, id) WHERE experiment_id IS NOT NULL;

CREATE TABLE judgment_exchanges (
    judgment_id uuid REFERENCES judgments (id) ON DELETE CASCADE,
    number integer,
    judge_order text,
    system text NOT NULL,
    document_hash text,
    messages jsonb NOT NULL,
    settings jsonb NOT NULL,
    model text NOT NULL,
    answer text NOT NULL,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (judgment_id, number)
);
CREATE INDEX judgment_exchanges_by_time ON judgment_exchanges (created_at);

CREATE TABLE experiments (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'draft',
    stop_reason text,
    spec jsonb NOT NULL,
    arbitrator jsonb NOT NULL,
    budget_usd double precision,
    concurrency integer NOT NULL,
    reserved_usd double precision NOT NULL DEFAULT 0,
    spent_usd double precision NOT NULL DEFAULT 0,
    created_by text NOT NULL,
    started_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    planning uuid,
    planner_until timestamptz,
    CONSTRAINT experiments_one_per_name UNIQUE (created_by, name),
    CONSTRAINT experiments_status_known CHECK (status IN ('draft', 'running', 'paused', 'completed', 'stopped')),
    CONSTRAINT experiments_stopped_has_reason CHECK ((status = 'stopped') = (stop_reason IS NOT NULL))
);
CREATE INDEX experiments_at_work ON experiments (id) WHERE status IN ('running', 'paused');
CREATE INDEX experiments_by_update ON experiments (updated_at DESC, id);

CREATE TABLE motions (
    experiment_id uuid REFERENCES experiments (id) ON DELETE CASCADE,
    id text,
    position integer NOT NULL,
    motion text NOT NULL,
    title text,
    document text,
    answer_a text,
    answer_b text,
    correct text,
    tags jsonb NOT NULL DEFAULT '[]',
    PRIMARY KEY (experiment_id, id),
    CONSTRAINT motions_correct_known CHECK (correct IN ('a', 'b'))
);

CREATE TABLE matches (
    experiment_id uuid REFERENCES experiments (id) ON DELETE CASCADE,
    key text,
    position integer NOT NULL,
    arm text NOT NULL,
    motion_id text NOT NULL,
    proposer text,
    opponent text,
    repeat integer NOT NULL,
    answer text NOT NULL DEFAULT 'a',
    status text NOT NULL DEFAULT 'planned',
    reason text,
    attempt integer NOT NULL DEFAULT 0,
    debate_id uuid,
    PRIMARY KEY (experiment_id, key),
    CONSTRAINT matches_held_have_a_debate CHECK (status IN ('planned', 'failed') OR debate_id IS NOT NULL),
    CONSTRAINT matches_status_known CHECK (status IN ('planned', 'running', 'completed', 'failed'))
);
CREATE UNIQUE INDEX matches_by_debate ON matches (debate_id) WHERE debate_id IS NOT NULL;
CREATE INDEX matches_by_position ON matches (experiment_id, status, position);

CREATE TABLE reservations (
    id uuid PRIMARY KEY,
    experiment_id uuid NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
    worker_id text NOT NULL,
    amount_usd double precision NOT NULL
);
CREATE INDEX reservations_by_worker ON reservations (worker_id);

CREATE TABLE judge_invitations (
    id uuid PRIMARY KEY,
    experiment_id uuid NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
    judge text NOT NULL,
    token_hash bytea NOT NULL,
    salt bytea NOT NULL,
    invited_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    issuer_id uuid REFERENCES agents (id),
    issuer_key bytea,
    revoked_at timestamptz,
    CONSTRAINT judge_invitations_one_per_token UNIQUE (token_hash)
);
CREATE INDEX judge_invitations_by_experiment ON judge_invitations (experiment_id);

CREATE TABLE judge_sessions (
    hash bytea PRIMARY KEY,
    invitation_id uuid NOT NULL REFERENCES judge_invitations (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX judge_sessions_by_invitation ON judge_sessions (invitation_id);

CREATE TABLE solutions (
    id uuid PRIMARY KEY,
    agent_id uuid NOT NULL REFERENCES agents (id),
    title text NOT NULL,
    description text NOT NULL,
    status text NOT NULL DEFAULT 'proposed',
    agent_debate_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    guardrail_status text NOT NULL DEFAULT 'pending',
    CONSTRAINT solutions_debating_when_debated CHECK ((status = 'proposed') = (agent_debate_count = 0)),
    CONSTRAINT solutions_guardrail_status_known CHECK (
        guardrail_status IN ('pending', 'approved', 'rejected', 'flagged')
    ),
    CONSTRAINT solutions_status_known CHECK (status IN ('proposed', 'debating'))
);
CREATE INDEX solutions_by_age ON solutions (created_at DESC, id DESC);
CREATE INDEX solutions_flagged ON solutions (created_at, id) WHERE guardrail_status = 'flagged';

CREATE TABLE contributions (
    id uuid PRIMARY KEY,
    solution_id uuid NOT NULL REFERENCES solutions (id),
    position integer NOT NULL,
    agent_id uuid NOT NULL REFERENCES agents (id),
    parent_id uuid REFERENCES contributions (id),
    depth smallint NOT NULL,
    stance text NOT NULL,
    content text NOT NULL,
    evidence_links jsonb NOT NULL,
    guardrail_status text NOT NULL DEFAULT 'pending',
    upvotes integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT contributions_one_per_position UNIQUE (solution_id, position),
    CONSTRAINT contributions_depth_bounded CHECK (depth BETWEEN 1 AND 5),
    CONSTRAINT contributions_only_roots_lack_a_parent CHECK ((depth = 1) = (parent_id IS NULL)),
    CONSTRAINT contributions_stance_known CHECK (stance IN ('support', 'oppose', 'modify', 'question')),
    CONSTRAINT contributions_status_known CHECK (guardrail_status IN ('pending', 'approved', 'rejected', 'flagged'))
);

CREATE TABLE upvotes (
    contribution_id uuid REFERENCES contributions (id),
    agent_id uuid REFERENCES agents (id),
    PRIMARY KEY (contribution_id, agent_id)
);

CREATE TABLE guardrail_evaluations (
    id uuid PRIMARY KEY,
    contribution_id uuid REFERENCES contributions (id),
    verdict text,
    reasons jsonb NOT NULL DEFAULT '[]',
    evaluator text,
    evaluated_at timestamptz,
    decision text,
    decided_by text,
    decision_reason text,
    decided_at timestamptz,
    claim_token uuid,
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz DEFAULT clock_timestamp(),
    queued_at timestamptz DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_by text,
    solution_id uuid REFERENCES solutions (id),
    CONSTRAINT guardrail_evaluations_one_per_contribution UNIQUE (contribution_id),
    CONSTRAINT guardrail_evaluations_one_per_solution UNIQUE (solution_id),
    CONSTRAINT guardrail_evaluations_decision_is_whole CHECK (
        (decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (decision_reason IS NULL)
    ),
    CONSTRAINT guardrail_evaluations_decision_known CHECK (decision IN ('approved', 'rejected')),
    CONSTRAINT guardrail_evaluations_of_one_text CHECK (num_nonnulls(contribution_id, solution_id) = 1),
    CONSTRAINT guardrail_evaluations_verdict_is_whole CHECK (
        verdict IS NULL OR (evaluator IS NOT NULL AND evaluated_at IS NOT NULL AND due_at IS NULL)
    ),
    CONSTRAINT guardrail_evaluations_verdict_known CHECK (verdict IN ('approved', 'rejected', 'flagged'))
);
CREATE INDEX guardrail_evaluations_due ON guardrail_evaluations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX guardrail_evaluations_flagged ON guardrail_evaluations (created_at, id)
    WHERE verdict = 'flagged' AND decision IS NULL;

CREATE TABLE solution_decisions (
    id uuid PRIMARY KEY,
    solution_id uuid NOT NULL REFERENCES solutions (id),
    decision text NOT NULL,
    decided_by text NOT NULL,
    reason text NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT solution_decisions_decision_known CHECK (decision IN ('approved', 'rejected'))
);
CREATE INDEX solution_decisions_of_solution ON solution_decisions (solution_id, decided_at);

CREATE FUNCTION note_titles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO debate_titles (debate_id, title, labels) SELECT id, lower(title), debate_labels(seats, tags) FROM made;
    ELSE
        UPDATE debate_titles SET title = lower(NEW.title) WHERE debate_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;

-- The outbox of webhooks. Triggers write it, in the transaction that made the event true.
CREATE FUNCTION tell_webhooks(told_event text, told_of uuid, told jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO webhook_deliveries (id, webhook_id, debate_id, event, data, due_at)
    SELECT gen_random_uuid(), webhooks.id, told_of, told_event, told, clock_timestamp()
    FROM webhooks WHERE disabled_at IS NULL AND told_event = ANY(webhooks.events)
$$;

CREATE FUNCTION tell_webhooks_of_debate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told jsonb;
    was_held_back boolean := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status = 'created' AND OLD.waits_for_start END;
    before text := CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END;
    turns_before integer := CASE WHEN TG_OP = 'UPDATE' THEN OLD.turn_count ELSE 0 END;
BEGIN
    IF NOT EXISTS (SELECT FROM webhooks WHERE disabled_at IS NULL) THEN
        RETURN NULL;
    END IF;
    told := jsonb_build_object(
        'debate_id', NEW.id, 'title', NEW.title, 'format', NEW.format, 'status', NEW.status,
        'stop_reason', NEW.stop_reason, 'last_error', NEW.last_error,
        'verdict', CASE WHEN NEW.verdict_scope = 'debate' THEN NEW.verdict || jsonb_build_object(
            'scope', NEW.verdict_scope, 'confidence', NEW.verdict_confidence) END,
        'argument_count', NEW.turn_count, 'next_round', NEW.next_round, 'next_actor', NEW.next_actor);
    IF before = 'created' AND NEW.status IN ('running', 'completed', 'failed')
       -- Paused before it began. One that was paused in its first turn is said to start again.
       OR before = 'paused' AND NEW.status = 'running' AND NEW.turn_count = 1 THEN
        PERFORM tell_webhooks('debate.started', NEW.id, told);
    END IF;
    IF before IS DISTINCT FROM NEW.status AND NEW.status IN ('completed', 'stopped', 'failed') THEN
        PERFORM tell_webhooks('debate.' || NEW.status, NEW.id, told);
    END IF;
    IF (NEW.status = 'running' OR NEW.status = 'created' AND NOT NEW.waits_for_start) AND (NEW.intervention_open OR NEW.seats -> (CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer' WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END) ->> 'player' = 'external') AND (turns_before <> NEW.turn_count OR before IN ('paused', 'failed') OR was_held_back) THEN
        PERFORM tell_webhooks('seat.waiting', NEW.id, told || jsonb_build_object(
            'role', CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer' WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END, 'waiting_until',
            to_char(NEW.waiting_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tell_webhooks_of_contribution() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('contribution.flagged', NULL, jsonb_build_object(
        'contribution_id', NEW.id, 'solution_id', NEW.solution_id, 'agent_id', NEW.agent_id));
    RETURN NULL;
END $$;

CREATE FUNCTION tell_webhooks_of_judgment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('judgment.completed', NEW.debate_id, jsonb_build_object(
        'judgment_id', NEW.id, 'debate_id', NEW.debate_id, 'judge', NEW.judge, 'verdict', NEW.verdict));
    RETURN NULL;
END $$;

CREATE FUNCTION tell_webhooks_of_experiment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks('experiment.completed', NULL, jsonb_build_object(
        'experiment_id', NEW.id, 'name', NEW.name, 'status', NEW.status));
    RETURN NULL;
END $$;

CREATE TRIGGER debates_note_titles AFTER INSERT ON debates REFERENCING NEW TABLE AS made
FOR EACH STATEMENT EXECUTE FUNCTION note_titles();
CREATE TRIGGER debates_note_new_title AFTER UPDATE OF title ON debates
FOR EACH ROW EXECUTE FUNCTION note_titles();
CREATE TRIGGER debates_tell_webhooks AFTER UPDATE ON debates FOR EACH ROW WHEN (
    OLD.status <> NEW.status OR (OLD.turn_count <> NEW.turn_count AND (NEW.status = 'running' OR NEW.status = 'created' AND NOT NEW.waits_for_start)
    AND (NEW.intervention_open OR NEW.seats -> (
        CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer'
             WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END
    ) ->> 'player' = 'external'))
) EXECUTE FUNCTION tell_webhooks_of_debate();
CREATE TRIGGER debates_tell_webhooks_first AFTER INSERT ON debates FOR EACH ROW WHEN (
    (NEW.status = 'running' OR NEW.status = 'created' AND NOT NEW.waits_for_start)
    AND (NEW.intervention_open OR NEW.seats -> (
        CASE WHEN NEW.intervention_open THEN 'arbitrator' WHEN NEW.next_actor = 'debater_a' THEN 'proposer'
             WHEN NEW.next_actor = 'debater_b' THEN 'opponent' ELSE 'arbitrator' END
    ) ->> 'player' = 'external')
) EXECUTE FUNCTION tell_webhooks_of_debate();
CREATE TRIGGER experiments_tell_webhooks AFTER UPDATE OF status ON experiments FOR EACH ROW
WHEN (NEW.status = 'completed' AND OLD.status <> 'completed') EXECUTE FUNCTION tell_webhooks_of_experiment();
CREATE TRIGGER contributions_tell_webhooks AFTER UPDATE OF guardrail_status ON contributions FOR EACH ROW
WHEN (NEW.guardrail_status = 'flagged' AND OLD.guardrail_status <> 'flagged')
EXECUTE FUNCTION tell_webhooks_of_contribution();
CREATE TRIGGER judgments_tell_webhooks AFTER UPDATE OF status ON judgments FOR EACH ROW
WHEN (NEW.status = 'completed' AND OLD.status <> 'completed') EXECUTE FUNCTION tell_webhooks_of_judgment();
CREATE TRIGGER judgments_tell_webhooks_first AFTER INSERT ON judgments FOR EACH ROW
WHEN (NEW.status = 'completed') EXECUTE FUNCTION tell_webhooks_of_judgment();
