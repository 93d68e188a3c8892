/** An automation as the API shows it: the fields of a list, its steps, and how many contacts each step has. */
import { z } from 'zod'
import { readStepCounts } from '#src/automations/inspect.ts'
import { STATUSES } from '#src/automations/state.ts'
import type { Automation, AutomationRow } from '#src/automations/store.ts'
import { TRIGGERS } from '#src/automations/triggers.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import type { ApiResponse } from '#api/http/route.ts'

const count = z.int().min(0)
export const automationRow = z.object({
  id: z.uuid(),
  name: z.string(),
  status: z.enum(Object.keys(STATUSES)),
  trigger_type: z.enum(Object.keys(TRIGGERS)),
  trigger_config: z.record(z.string(), z.unknown()),
  version: z.int().min(1),
  step_count: count,
  enrolled_count: count,
  completed_count: count,
  active_count: count,
  created_at: timestamp,
  updated_at: timestamp,
  createdAt: timestamp,
  updatedAt: timestamp,
})
const stepsSchema = z.array(z.looseObject({ id: z.string(), type: z.string() }))
const stepCountsSchema = z.array(z.object({ step: z.string(), passed: count, waiting: count })).meta({
  description: 'for each step, how often it was passed and how many contacts wait at it; includes older versions',
})
export const automationResponse = envelope(
  automationRow.extend({ steps: stepsSchema, step_counts: stepCountsSchema }),
).meta({
  id: 'AutomationAnswer',
})

export async function respondWithAutomation(
  ctx: ApiContext,
  automation: Automation,
  message: string,
): Promise<ApiResponse> {
  const counts = await readStepCounts(ctx.db, automation.id)
  return {
    body: {
      success: true,
      message,
      data: { ...presentAutomationRow(automation), steps: automation.steps, step_counts: counts },
    },
  }
}

export function presentAutomationRow(automation: AutomationRow): Record<string, unknown> {
  const [created, updated] = [automation.createdAt.toISOString(), automation.updatedAt.toISOString()]
  return {
    id: automation.id,
    name: automation.name,
    status: automation.status,
    trigger_type: automation.triggerType,
    trigger_config: automation.triggerConfig,
    version: automation.version,
    step_count: automation.stepCount,
    enrolled_count: automation.enrolledCount,
    completed_count: automation.completedCount,
    active_count: automation.activeCount,
    created_at: created,
    updated_at: updated,
    createdAt: created,
    updatedAt: updated,
  }
}
