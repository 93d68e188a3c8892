/**
 * Compiles the bodies that mail steps contain, the way stored templates are compiled: partials expanded, MJML compiled,
 * CSS inlined. The compile thread does this before the transaction that stores the steps. A later change of a partial
 * affects only the next version.
 */
import type { Detail } from '#src/platform/errors.ts'
import { compileInlineTemplate } from '#src/templates/inline-template.ts'
import { listSteps, type Step } from './steps.ts'

/** The compiled content of one step. */
export interface StepContent {
  readonly step: string
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

/** The bodies that compilation changed, or one detail for each that is invalid. */
export type StepBodies =
  | { readonly ok: true; readonly contents: readonly StepContent[] }
  | { readonly ok: false; readonly details: readonly Detail[] }

type StepBodyDeps = Parameters<typeof compileInlineTemplate>[0]
type StepBodyResult = { readonly content: StepContent | null } | { readonly detail: Detail }

export async function compileStepBodies(
  deps: StepBodyDeps,
  workspaceId: string,
  steps: readonly Step[],
): Promise<StepBodies> {
  const found = await Promise.all(
    listSteps(steps).map(({ step, path }) => compileStepBody(deps, workspaceId, step, path)),
  )
  const details = found.flatMap((one) => ('detail' in one ? [one.detail] : []))
  if (details.length > 0) return { ok: false, details }
  return { ok: true, contents: found.flatMap((one) => ('content' in one && one.content !== null ? [one.content] : [])) }
}

async function compileStepBody(
  deps: StepBodyDeps,
  workspaceId: string,
  step: Step,
  path: string,
): Promise<StepBodyResult> {
  if (step.type !== 'send_email') return { content: null }
  const { subject, body } = step
  const textPart = step.text ?? null
  // a step with a template has only its own subject
  const format = body === null ? 'text' : null
  const compiled = await compileInlineTemplate(deps, workspaceId, {
    subject: subject ?? '',
    body: body ?? '',
    text: textPart,
    format,
  })
  if (!compiled.ok)
    return { detail: { path: `${path}.${body === null ? 'subject' : 'body'}`, message: compiled.reason } }
  const { html, text } = compiled
  const isUnchanged = body === null || (textPart === null && (html ?? text) === body)
  return { content: isUnchanged ? null : { step: step.id, subject: subject ?? '', html, text } }
}
