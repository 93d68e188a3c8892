/**
 * The mails that steps write themselves, made ready as saved templates are: partials put in, MJML compiled, CSS inlined. That is work for
 * another thread, so it is done before the transaction that stores the steps. A partial that changes later changes the next version.
 */
import type { Detail } from '#src/platform/errors.ts'
import { finishWritten } from '#src/templates/inline-template.ts'
import { placedSteps, type Step } from './steps.ts'

/** What a step of this id sends. */
export interface StepContent {
  readonly step: string
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

/** Those that differ from what was written; or a detail for each that cannot be rendered. */
export type Sources =
  | { readonly ok: true; readonly contents: readonly StepContent[] }
  | { readonly ok: false; readonly details: readonly Detail[] }

type Means = Parameters<typeof finishWritten>[0]
type Found = { readonly content: StepContent | null } | { readonly detail: Detail }

export async function finishSources(means: Means, workspaceId: string, steps: readonly Step[]): Promise<Sources> {
  const found = await Promise.all(
    placedSteps(steps).map(({ step, path }) => finishStep(means, workspaceId, step, path)),
  )
  const details = found.flatMap((one) => ('detail' in one ? [one.detail] : []))
  if (details.length > 0) return { ok: false, details }
  return { ok: true, contents: found.flatMap((one) => ('content' in one && one.content !== null ? [one.content] : [])) }
}

async function finishStep(means: Means, workspaceId: string, step: Step, path: string): Promise<Found> {
  if (step.type !== 'send_email') return { content: null }
  const { subject, body } = step
  const written = step.text ?? null
  // of a template only the subject is the step's own
  const format = body === null ? 'text' : null
  const finished = await finishWritten(means, workspaceId, {
    subject: subject ?? '',
    body: body ?? '',
    text: written,
    format,
  })
  if (!finished.ok)
    return { detail: { path: `${path}.${body === null ? 'subject' : 'body'}`, message: finished.reason } }
  const { html, text } = finished
  const isAsWritten = body === null || (written === null && (html ?? text) === body)
  return { content: isAsWritten ? null : { step: step.id, subject: subject ?? '', html, text } }
}
