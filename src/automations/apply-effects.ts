/**
 * Applies the effects of a slice of automation runs in the transaction that moves their enrolments: tags, memberships,
 * messages, webhook calls, and the position of each contact. The transaction is atomic, so a crash neither loses nor
 * repeats a step. The result lists what must be announced in Redis after the commit.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { lockAudience, type AudienceTarget } from '#src/contacts/audiences.ts'
import { contactEvent } from '#src/contacts/contact-events.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { CommitNotifications } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { newId } from '#src/platform/id.ts'
import { endpointOf } from './webhook-calls.ts'
import type { DueEnrolment } from './due-enrolments.ts'
import type { MailStepState } from './mail-steps.ts'
import { queueMessages, type AutomationMessage } from './mail-queue.ts'
import type { DueRecipient } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { moveEnrolments, recordPassedSteps, type EnrolmentRun } from './enrolment-progress.ts'
import { MAX_TAGS, type Effect } from './step-engine.ts'

export interface AppliedEffects {
  readonly due: readonly DueRecipient[]
  readonly news: CommitNotifications
}

/**
 * The caller has locked the contacts that change (`lockContacts`). `mailStepFor` returns what a mail step of an
 * enrolment sends.
 */
export async function applyEffects(
  tx: Queryable,
  runs: readonly EnrolmentRun[],
  mailStepFor: (enrolment: DueEnrolment, stepId: string) => MailStepState,
  now: Date,
): Promise<AppliedEffects> {
  await changeTags(tx, runs, now)
  const joining = await changeAudiences(tx, runs, now)
  await storeCalls(tx, runs, now)
  const sent = await queueMessages(tx, listMessages(runs, mailStepFor, now), now)
  await moveEnrolments(tx, runs, now)
  await recordPassedSteps(tx, runs)
  return { due: sent.due, news: mergeNotifications([joining, sent.news]) }
}

function mergeNotifications(news: readonly CommitNotifications[]): CommitNotifications {
  const workspaces = new Set(news.flatMap((one) => one.workspaces))
  return { hasDeliveries: news.some(({ hasDeliveries }) => hasDeliveries), workspaces: [...workspaces] }
}

interface RunEffect<K extends Effect['kind']> extends EnrolmentRun {
  readonly effect: Extract<Effect, { kind: K }>
}

function listEffects<K extends Effect['kind']>(runs: readonly EnrolmentRun[], kind: K): RunEffect<K>[] {
  return runs.flatMap((one) =>
    one.result.effects.flatMap((effect) =>
      effect.kind === kind ? [{ ...one, effect: effect as Extract<Effect, { kind: K }> }] : [],
    ),
  )
}

const TAGS = prepared(
  'automation-tags',
  sql`
    UPDATE contacts c
    SET tags = ARRAY(
        SELECT tag
        FROM (
          SELECT tag, place
          FROM unnest(c.tags) WITH ORDINALITY AS t (tag, place)
          WHERE NOT i.removed ? tag
          UNION ALL
          SELECT tag, ${MAX_TAGS} + place
          FROM jsonb_array_elements_text(i.added) WITH ORDINALITY AS a (tag, place)
          WHERE NOT tag = ANY (c.tags)
        ) both_sides
        ORDER BY place
        LIMIT ${MAX_TAGS}
      ),
      updated_at = $4
    FROM unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) AS i (id, added, removed)
    WHERE c.id = i.id
  `,
)

/** A contact in several automations can occur several times; its tag changes are combined. */
async function changeTags(tx: Queryable, runs: readonly EnrolmentRun[], now: Date): Promise<void> {
  const byContact = new Map<string, Map<string, boolean>>()
  for (const {
    enrolment: { contactId },
    effect,
  } of listEffects(runs, 'tag')) {
    const tags = byContact.get(contactId) ?? new Map<string, boolean>()
    // the last change of a tag wins and moves to the end
    tags.delete(effect.tag)
    byContact.set(contactId, tags.set(effect.tag, effect.isAdded))
  }
  if (byContact.size === 0) return
  const rows = [...byContact].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const tagsToJson = (tags: ReadonlyMap<string, boolean>, is: boolean): string =>
    JSON.stringify([...tags].filter(([, isAdded]) => isAdded === is).map(([tag]) => tag))
  await tx.query(TAGS, [
    ...columnsOf(rows, [([id]) => id, ([, tags]) => tagsToJson(tags, true), ([, tags]) => tagsToJson(tags, false)]),
    now,
  ])
}

const JOIN = prepared(
  'automation-join',
  sql`
    INSERT INTO memberships (
      audience_id, contact_id, workspace_id, email, first_key, last_key, score, created_at, updated_at
    )
    SELECT $1, c.id, c.workspace_id, c.email, name_key(c.first_name), name_key(c.last_name), coalesce(c.score, 0) + 0,
      $3, $3
    FROM contacts c
    WHERE c.id = ANY ($2)
    ORDER BY c.email
    ON CONFLICT (audience_id, contact_id) DO NOTHING
    RETURNING contact_id AS "contactId", email
  `,
)
// Also deletes memberships of deleted audiences: a contact with no others would be treated as orphaned and be deleted.
const LEAVE = prepared(
  'automation-leave',
  sql`
    DELETE FROM memberships
    WHERE contact_id = ANY ($2)
      AND (audience_id = $1 OR EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NOT NULL))
  `,
)

/** Changes audiences ordered by id. Skips deleted audiences. Contacts that unsubscribed stay unsubscribed. */
async function changeAudiences(tx: Queryable, runs: readonly EnrolmentRun[], now: Date): Promise<CommitNotifications> {
  const last = new Map<string, RunEffect<'audience'>>()
  for (const one of listEffects(runs, 'audience')) last.set(`${one.effect.audienceId} ${one.enrolment.contactId}`, one)
  const byAudience = Map.groupBy(
    last.values(),
    ({ enrolment, effect }) => `${effect.audienceId} ${enrolment.workspaceId}`,
  )
  const news: CommitNotifications[] = []
  for (const [key, members] of [...byAudience].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [audienceId = '', workspaceId = ''] = key.split(' ')
    const at: AudienceTarget = { workspaceId, audienceId, now }
    const locked = await lockAudience(tx, at)
    if (locked === null) continue
    const idsOf = (isAdded: boolean): string[] =>
      members.filter(({ effect }) => effect.isAdded === isAdded).map(({ enrolment }) => enrolment.contactId)
    await tx.query(LEAVE, [audienceId, idsOf(false)])
    const { rows } = await tx.query<{ contactId: string; email: string }>(JOIN, [audienceId, idsOf(true), now])
    news.push(
      await raiseEvents(
        tx,
        rows.map((row) => contactEvent('contact.subscribed', at, row)),
        now,
      ),
    )
  }
  return mergeNotifications(news)
}

const STORE_CALLS = prepared(
  'automation-calls-store',
  sql`
    INSERT INTO automation_calls (
      id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at, created_at
    )
    SELECT *, $9, $9
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[]) AS i
  `,
)

async function storeCalls(tx: Queryable, runs: readonly EnrolmentRun[], now: Date): Promise<void> {
  const calls = listEffects(runs, 'call').map((one) => ({ ...one, id: newId(now.getTime()) }))
  if (calls.length === 0) return
  await tx.query(STORE_CALLS, [
    ...columnsOf(calls, [
      (one) => one.id,
      (one) => one.enrolment.workspaceId,
      (one) => one.enrolment.automationId,
      (one) => one.enrolment.id,
      (one) => one.effect.stepId,
      (one) => endpointOf(one.enrolment.workspaceId, one.effect.url),
      (one) => one.effect.url,
      (one) => JSON.stringify(callBody(one, now)),
    ]),
    now,
  ])
}

/** The request body of a webhook step. */
function callBody({ id, enrolment, effect }: RunEffect<'call'> & { readonly id: string }, now: Date): object {
  const { contact } = effect
  return {
    id,
    type: 'automation.webhook',
    timestamp: now.toISOString(),
    workspace_id: enrolment.workspaceId,
    automation_id: enrolment.automationId,
    enrolment_id: enrolment.id,
    step: effect.stepId,
    event: effect.event,
    contact: {
      id: contact.id,
      email: contact.email,
      first_name: contact.firstName,
      last_name: contact.lastName,
      company: contact.companyName,
      job_title: contact.jobTitle,
      phone_number: contact.phoneNumber,
      linkedin: contact.linkedin,
      timezone: contact.timezone,
      tags: contact.tags,
      custom_attributes: contact.customAttributes,
    },
  }
}

function listMessages(
  runs: readonly EnrolmentRun[],
  mailStepFor: (enrolment: DueEnrolment, stepId: string) => MailStepState,
  now: Date,
): AutomationMessage[] {
  return listEffects(runs, 'mail').map(({ enrolment, contact, needsOpens, effect: { step, event } }) => {
    const mailStep = mailStepFor(enrolment, step.id)
    if (mailStep.kind !== 'ready')
      throw new Error(`an automation run passed a mail step that cannot be sent: ${mailStep.reason}`)
    return {
      id: newId(now.getTime()),
      eventId: newId(now.getTime()),
      enrolment,
      email: contact.email,
      step,
      event,
      needsOpens,
      ...mailStep,
    }
  })
}
