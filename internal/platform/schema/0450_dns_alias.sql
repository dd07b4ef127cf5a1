-- +goose Up

-- of ALIAS: when its target was last looked up; NULL before that
ALTER TABLE dns_records ADD COLUMN looked_up_at BIGINT;
