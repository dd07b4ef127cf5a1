package cron

import "stead.dev/stead/internal/platform/fault"

// errExpression refuses a schedule that is malformed or never comes.
var errExpression = fault.Define(fault.KindUnprocessable, "cron_expression_invalid")
