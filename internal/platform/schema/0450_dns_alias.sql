-- +goose Up

-- of ALIAS: when its target was last looked up; NULL before that
ALTER TABLE dns_records ADD COLUMN looked_up_at BIGINT;

-- Those that have addresses have been looked up: they keep them while the target does not answer.
UPDATE dns_records SET looked_up_at = updated_at WHERE type = 'ALIAS' AND resolved <> '[]';
