/**
 * Prepares the mail steps of a slice: what they send and from which domain, or why they cannot send now. A step with a
 * template sends the template's latest version; each version is stored once as content that messages reference, and two
 * workers that meet a new version at once store one row. A step's own body is stored with its version if it had to be
 * compiled (step-bodies.ts), otherwise when it is first sent.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import { storeContent, type NewContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import type { StepContent } from './step-bodies.ts'
import type { Step } from './steps.ts'

type MailStep = Extract<Step, { type: 'send_email' }>

export interface MailStepRef {
  readonly workspaceId: string
  readonly automationId: string
  readonly version: number
  readonly step: MailStep
}

export type MailStepState =
  | { readonly kind: 'ready'; readonly contentId: string; readonly domainId: string; readonly subject: string }
  /** A text for the user. */
  | { readonly kind: 'obstacle'; readonly reason: string }

/** One state for each step, in the same order. */
export async function prepareMailSteps(tx: Queryable, steps: readonly MailStepRef[]): Promise<MailStepState[]> {
  if (steps.length === 0) return []
  const [domains, stored] = [await findDomains(tx, steps), await findStoredContents(tx, steps)]
  const states: MailStepState[] = []
  for (const [i, one] of steps.entries()) {
    const [domainId, content] = [domains.get(domainKey(one)), stored.get(i)]
    if (domainId === undefined) states.push({ kind: 'obstacle', reason: describeUnverified(one) })
    else
      states.push(
        content === undefined ? await storeStepContent(tx, one, domainId) : { kind: 'ready', domainId, ...content },
      )
  }
  return states
}

/** Why each step could not send now, as text, or null. Stores nothing. */
export async function findObstacles(db: Queryable, steps: readonly MailStepRef[]): Promise<(string | null)[]> {
  const domains = await findDomains(db, steps)
  return Promise.all(
    steps.map(async (one) => {
      if (!domains.has(domainKey(one))) return describeUnverified(one)
      return (await loadContent(db, one)) === null ? NO_TEMPLATE : null
    }),
  )
}

const NO_TEMPLATE = 'its template was deleted'

function describeUnverified({ step }: MailStepRef): string {
  return `${step.from} is not an address of a verified domain of the workspace`
}

const DOMAINS = prepared(
  'automation-domains',
  sql`
    SELECT d.id, d.workspace_id || ' ' || d.domain AS name
    FROM unnest($1::uuid[], $2::text[]) AS i (workspace_id, domain)
    JOIN domains d
      ON d.workspace_id = i.workspace_id AND d.domain = i.domain AND d.verification_status IN ('verified', 'degraded')
  `,
)

async function findDomains(tx: Queryable, steps: readonly MailStepRef[]): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ id: string; name: string }>(
    DOMAINS,
    columnsOf(steps, [(one) => one.workspaceId, (one) => domainOf(one)]),
  )
  return new Map(rows.map(({ id, name }) => [name, id]))
}

function domainOf({ step }: MailStepRef): string {
  return step.from.slice(step.from.lastIndexOf('@') + 1)
}

function domainKey(one: MailStepRef): string {
  return `${one.workspaceId} ${domainOf(one)}`
}

const STORED = prepared(
  'automation-contents-stored',
  sql`
    SELECT i.ord::int AS ord, k.id AS "contentId", k.subject
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::uuid[]) WITH ORDINALITY AS i (
      workspace_id, automation_id, version, step, template_id, ord
    )
    LEFT JOIN templates t ON t.id = i.template_id AND t.workspace_id = i.workspace_id
    JOIN automation_contents c
      ON c.automation_id = i.automation_id
      AND c.version = i.version
      AND c.step = i.step
      AND c.template_version = CASE WHEN i.template_id IS NULL THEN 0 ELSE t.version END
    JOIN mail_contents k ON k.id = c.content_id
  `,
)

type StoredStepContent = Pick<Extract<MailStepState, { kind: 'ready' }>, 'contentId' | 'subject'>

/** Contents that were sent before and are still current, by index in `steps`: the normal case. */
async function findStoredContents(
  tx: Queryable,
  steps: readonly MailStepRef[],
): Promise<Map<number, StoredStepContent>> {
  const { rows } = await tx.query<StoredStepContent & { ord: number }>(
    STORED,
    columnsOf(steps, [
      (one) => one.workspaceId,
      (one) => one.automationId,
      (one) => one.version,
      (one) => one.step.id,
      (one) => one.step.template_id,
    ]),
  )
  return new Map(rows.map(({ ord, contentId, subject }) => [ord - 1, { contentId, subject }]))
}

const FIND_CONTENT = prepared(
  'automation-content',
  sql`
    SELECT k.id, k.subject
    FROM automation_contents c
    JOIN mail_contents k ON k.id = c.content_id
    WHERE c.automation_id = $1 AND c.version = $2 AND c.step = $3 AND c.template_version = $4
  `,
)
const LINK_CONTENT = prepared(
  'automation-content-link',
  sql`
    INSERT INTO automation_contents (automation_id, version, step, template_version, content_id)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING content_id
  `,
)

async function storeStepContent(tx: Queryable, mailStep: MailStepRef, domainId: string): Promise<MailStepState> {
  const { workspaceId, automationId, version, step } = mailStep
  const content = await loadContent(tx, mailStep)
  if (content === null) return { kind: 'obstacle', reason: NO_TEMPLATE }
  const key = [automationId, version, step.id, content.templateVersion ?? 0]
  const existing = await findContent(tx, key)
  if (existing !== null) return { kind: 'ready', domainId, contentId: existing.id, subject: existing.subject }
  const id = await storeContent(tx, workspaceId, content)
  const { rowCount } = await tx.query(LINK_CONTENT, [...key, id])
  // the row of the other worker, which this statement waited for
  const winner = rowCount === 1 ? null : await findContent(tx, key)
  return { kind: 'ready', domainId, contentId: winner?.id ?? id, subject: content.subject }
}

/** Stores the compiled bodies of a new version, in the transaction that stores the version. */
export async function storeStepBodies(
  tx: Queryable,
  { workspaceId, automationId, version }: Omit<MailStepRef, 'step'>,
  contents: readonly StepContent[],
): Promise<void> {
  for (const { step, ...content } of contents) {
    const id = await storeContent(tx, workspaceId, { templateId: null, templateVersion: null, ...content })
    await tx.query(LINK_CONTENT, [automationId, version, step, 0, id])
  }
}

async function findContent(tx: Queryable, key: readonly unknown[]): Promise<{ id: string; subject: string } | null> {
  const { rows } = await tx.query<{ id: string; subject: string }>(FIND_CONTENT, [...key])
  return rows[0] ?? null
}

/**
 * Loads the current content of a step; null if its template was deleted. A body that was not compiled is sent as
 * written.
 */
async function loadContent(tx: Queryable, { workspaceId, step }: MailStepRef): Promise<NewContent | null> {
  const { template_id: templateId, subject, body } = step
  if (templateId === null) {
    const text = body ?? ''
    const parts = isHtml(text) ? { html: text, text: null } : { html: null, text }
    return { templateId: null, templateVersion: null, subject: subject ?? '', ...parts }
  }
  const template = await findTemplateVersion(tx, workspaceId, templateId, null)
  if (template === null) return null
  return {
    templateId,
    templateVersion: template.version,
    subject: subject ?? template.subject,
    html: template.html,
    text: template.text,
  }
}
