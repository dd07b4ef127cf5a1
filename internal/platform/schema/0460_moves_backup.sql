-- +goose Up

-- when the backup was asked for that it is restored from, or that comes first while none is chosen: what is newer is lost; NULL where
-- there is none, and of a move from a machine that lives
ALTER TABLE moves_moves ADD COLUMN backup_at BIGINT;
