-- +goose Up

-- Audit log: what staff have done, written in the transaction of the change. Rows are never changed or removed; the
-- database refuses both. They name accounts by their ids alone, so that a closed account leaves no person's name here.
CREATE TABLE audit_entries (
    id           {{id}},
    at           BIGINT NOT NULL, -- when it was done
    actor_id     BIGINT,          -- account of the member of staff; NULL for commands and for the program itself
    actor_role   TEXT   NOT NULL, -- role of the member of staff then; empty for commands
    actor_name   TEXT   NOT NULL, -- of a command: the user and the machine; empty where the account says who it was
    via          TEXT   NOT NULL, -- surface: panel, api, command or program
    address      TEXT   NOT NULL, -- IP address of the request; empty for commands
    request_id   TEXT   NOT NULL, -- id of the request in the logs; empty for commands
    action       TEXT   NOT NULL, -- what was done, such as service.suspend
    subject_kind TEXT   NOT NULL, -- kind of what was changed, such as service
    subject      TEXT   NOT NULL, -- its id or key
    account_id   BIGINT,          -- customer's account that it belongs to; NULL where there is none
    reason       TEXT   NOT NULL, -- why, in the words of the member of staff; may be empty
    before_state TEXT   NOT NULL, -- JSON of the subject before the change; null when there was none
    after_state  TEXT   NOT NULL, -- JSON of the subject after the change; null when there is none
    CONSTRAINT audit_entries_via CHECK (via IN ('panel', 'api', 'command', 'program'))
);
CREATE INDEX audit_entries_account ON audit_entries (account_id, id);
CREATE INDEX audit_entries_actor ON audit_entries (actor_id, id);
CREATE INDEX audit_entries_subject ON audit_entries (subject_kind, subject, id);

{{sqlite}} -- +goose StatementBegin
{{sqlite}} CREATE TRIGGER audit_entries_no_update BEFORE UPDATE ON audit_entries
{{sqlite}} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
{{sqlite}} -- +goose StatementEnd
{{sqlite}} -- +goose StatementBegin
{{sqlite}} CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries
{{sqlite}} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
{{sqlite}} -- +goose StatementEnd
{{postgres}} -- +goose StatementBegin
{{postgres}} CREATE FUNCTION audit_entries_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
{{postgres}} BEGIN
{{postgres}}     RAISE EXCEPTION 'the audit log is append-only';
{{postgres}} END $$;
{{postgres}} -- +goose StatementEnd
{{postgres}} CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
{{postgres}}     FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_append_only();
