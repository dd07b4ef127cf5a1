-- +goose Up

-- when the former machine began to keep the service unchanged for the last copy; programs and mail stand still from then until opened_at;
-- NULL before that, and of a recovery
ALTER TABLE moves_moves ADD COLUMN held_at BIGINT;
