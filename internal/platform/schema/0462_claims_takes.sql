-- +goose NO TRANSACTION
-- +goose Up

-- The few domains that are about to be taken are found by their holders' without reading all.
DROP INDEX {{online}} IF EXISTS claims_domains_takes;
CREATE INDEX {{online}} claims_domains_takes ON claims_domains (domain) WHERE takes_at IS NOT NULL;
