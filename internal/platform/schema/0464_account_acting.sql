-- +goose NO TRANSACTION
-- +goose Up

-- The few sessions in which a member of staff acts are ended together with that member's own, without reading all.
DROP INDEX {{online}} IF EXISTS account_sessions_acting;
CREATE INDEX {{online}} account_sessions_acting ON account_sessions (acting_id) WHERE acting_id IS NOT NULL;
