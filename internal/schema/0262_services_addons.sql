-- +goose Up

-- What the add-ons of a service add to each of its renewals, which renew_price has in it, and to the
-- limits of its plan: an object of numbers. limits stay those of the plan.
ALTER TABLE services ADD COLUMN addon_price BIGINT NOT NULL DEFAULT 0 CHECK (addon_price >= 0);
ALTER TABLE services ADD COLUMN addon_limits TEXT NOT NULL DEFAULT '{}';
