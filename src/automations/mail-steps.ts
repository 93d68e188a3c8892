/**
 * What the mail steps of a slice send and in whose name, or why they cannot now. A step from a template sends the template's latest
 * version; each version is stored once as the content that mails name. Two workers that meet a new version at once store one. A step's own
 * body is stored with its version where it had to be made ready (step-templates.ts), and else when it is first sent.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import { storeContent, type NewContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import type { StepContent } from './step-templates.ts'
import type { Step } from './steps.ts'

type MailStep = Extract<Step, { type: 'send_email' }>

export interface MailStepOf {
  readonly workspaceId: string
  readonly automationId: string
  readonly version: number
  readonly step: MailStep
}

export type Sendable =
  | { readonly kind: 'ready'; readonly contentId: string; readonly domainId: string; readonly subject: string }
  /** For people. */
  | { readonly kind: 'obstacle'; readonly reason: string }

/** In the order of the steps. */
export async function prepareMailSteps(tx: Queryable, steps: readonly MailStepOf[]): Promise<Sendable[]> {
  if (steps.length === 0) return []
  const [domains, stored] = [await findDomains(tx, steps), await findStored(tx, steps)]
  const sendable: Sendable[] = []
  for (const [i, one] of steps.entries()) {
    const [domainId, content] = [domains.get(nameOf(one)), stored.get(i)]
    if (domainId === undefined) sendable.push({ kind: 'obstacle', reason: noDomain(one) })
    else
      sendable.push(
        content === undefined ? await contentFor(tx, one, domainId) : { kind: 'ready', domainId, ...content },
      )
  }
  return sendable
}

/** Why each could not be sent now, for people, or null; stores nothing. */
export async function findObstacles(db: Queryable, steps: readonly MailStepOf[]): Promise<(string | null)[]> {
  const domains = await findDomains(db, steps)
  return Promise.all(
    steps.map(async (one) => {
      if (!domains.has(nameOf(one))) return noDomain(one)
      return (await contentOf(db, one)) === null ? NO_TEMPLATE : null
    }),
  )
}

const NO_TEMPLATE = 'its template is gone'

function noDomain({ step }: MailStepOf): string {
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

async function findDomains(tx: Queryable, steps: readonly MailStepOf[]): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ id: string; name: string }>(
    DOMAINS,
    columnsOf(steps, [(one) => one.workspaceId, (one) => domainOf(one)]),
  )
  return new Map(rows.map(({ id, name }) => [name, id]))
}

function domainOf({ step }: MailStepOf): string {
  return step.from.slice(step.from.lastIndexOf('@') + 1)
}

function nameOf(one: MailStepOf): string {
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

type Stored = Pick<Extract<Sendable, { kind: 'ready' }>, 'contentId' | 'subject'>

/** What was sent before and is still the latest, by its place in the list: nearly all, nearly always. */
async function findStored(tx: Queryable, steps: readonly MailStepOf[]): Promise<Map<number, Stored>> {
  const { rows } = await tx.query<Stored & { ord: number }>(
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

const KNOWN = prepared(
  'automation-content',
  sql`
    SELECT k.id, k.subject
    FROM automation_contents c
    JOIN mail_contents k ON k.id = c.content_id
    WHERE c.automation_id = $1 AND c.version = $2 AND c.step = $3 AND c.template_version = $4
  `,
)
const KEEP = prepared(
  'automation-content-keep',
  sql`
    INSERT INTO automation_contents (automation_id, version, step, template_version, content_id)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING
    RETURNING content_id
  `,
)

async function contentFor(tx: Queryable, one: MailStepOf, domainId: string): Promise<Sendable> {
  const { workspaceId, automationId, version, step } = one
  const content = await contentOf(tx, one)
  if (content === null) return { kind: 'obstacle', reason: NO_TEMPLATE }
  const key = [automationId, version, step.id, content.templateVersion ?? 0]
  const known = await findKnown(tx, key)
  if (known !== null) return { kind: 'ready', domainId, contentId: known.id, subject: known.subject }
  const id = await storeContent(tx, workspaceId, content)
  const { rowCount } = await tx.query(KEEP, [...key, id])
  // the other worker's, which this statement waited for
  const winner = rowCount === 1 ? null : await findKnown(tx, key)
  return { kind: 'ready', domainId, contentId: winner?.id ?? id, subject: content.subject }
}

/** Own bodies of a version that is new, in the transaction that stores it. */
export async function storeOwnBodies(
  tx: Queryable,
  { workspaceId, automationId, version }: Omit<MailStepOf, 'step'>,
  contents: readonly StepContent[],
): Promise<void> {
  for (const { step, ...said } of contents) {
    const id = await storeContent(tx, workspaceId, { templateId: null, templateVersion: null, ...said })
    await tx.query(KEEP, [automationId, version, step, 0, id])
  }
}

async function findKnown(tx: Queryable, key: readonly unknown[]): Promise<{ id: string; subject: string } | null> {
  const { rows } = await tx.query<{ id: string; subject: string }>(KNOWN, [...key])
  return rows[0] ?? null
}

/** Null: the template is gone. A body that is not stored is sent as it was written. */
async function contentOf(tx: Queryable, { workspaceId, step }: MailStepOf): Promise<NewContent | null> {
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
