-- +goose Up

-- What the panel counted of a service when it was last asked, for changes that must not
-- wait for it. counted is an object of numbers by the names of the plan's limits.
CREATE TABLE hosting_usage (
    service_id  BIGINT PRIMARY KEY,
    counted     TEXT   NOT NULL,
    measured_at BIGINT NOT NULL
);
