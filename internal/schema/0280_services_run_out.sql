-- +goose Up

-- The paid time of services that their owners suspended runs out: those that are to be looked at then.
UPDATE services SET step_at = expires_at WHERE status = 'suspended' AND suspend_reason = 'manual'
    AND owner_suspended_at = suspended_at AND terminates_at IS NULL AND step_at IS NULL;

-- Until when a job may be removing what is left of the account of a service; NULL where none does. An account is made only
-- when nobody removes one of the same name.
ALTER TABLE services ADD COLUMN cleaning_until BIGINT;
