-- +goose Up

-- The application that has registered a device, which is forgotten when that may not act for the account any more; 0 for
-- those from before.
ALTER TABLE devices ADD COLUMN application_id BIGINT NOT NULL DEFAULT 0;
CREATE INDEX devices_application ON devices (application_id);
