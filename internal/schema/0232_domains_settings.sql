-- +goose Up

-- seen counts what was read from the registry of a domain: a reading that was made before another was
-- written is older than the row and is made again. handle is what the names of the domain's contacts at
-- the registry begin with; nobody can guess it, so it is nobody else's there. Older domains have none.
ALTER TABLE domains ADD COLUMN seen BIGINT NOT NULL DEFAULT 0;
ALTER TABLE domains ADD COLUMN handle TEXT NOT NULL DEFAULT '';
CREATE INDEX domains_account_client ON domains (account_id, client_ref, id);
CREATE INDEX domains_account_status ON domains (account_id, status, id);
CREATE INDEX domains_account_expiry ON domains (account_id, expires_at);

-- An operation is worked on by whoever holds its lease, and by nobody else before lease_until: two workers
-- at once could pay one back that the other has the registry do.
ALTER TABLE domains_operations ADD COLUMN lease TEXT;
ALTER TABLE domains_operations ADD COLUMN lease_until BIGINT;
CREATE INDEX domains_operations_waiting ON domains_operations (id) WHERE status IN ('pending', 'attempted');
