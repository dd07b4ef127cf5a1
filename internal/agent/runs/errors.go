package runs

import "stead.dev/stead/internal/platform/fault"

var (
	errDisabled = fault.Define(fault.KindUnprocessable, "ai_disabled")
	// errBudget has what may be spent in a month as budget, and what was spent as spent.
	errBudget     = fault.Define(fault.KindUnprocessable, "ai_budget_exceeded")
	errInProgress = fault.Define(fault.KindUnprocessable, "ai_run_in_progress")
	// errModelUnknown has the models that there are as models.
	errModelUnknown = fault.Define(fault.KindUnprocessable, "ai_model_unknown")
	errOver         = fault.Define(fault.KindUnprocessable, "ai_run_over")
	errDecided      = fault.Define(fault.KindConflict, "ai_approval_decided")
	// errUndoConflict lists what is in the way as conflicts.
	errUndoConflict = fault.Define(fault.KindConflict, "ai_undo_conflict")
	errNothingToDo  = fault.Define(fault.KindUnprocessable, "ai_nothing_to_undo")
)
