/**
 * Does what a slice of walks says, in the transaction that moves their enrolments: tags, memberships, mails, calls, and where each contact
 * now is. All of it or nothing, so a crash neither loses a step nor takes it twice. What Redis has to be told comes back, for after the
 * commit.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { holdAudience, type Target } from '#src/contacts/audiences.ts'
import { contactEvent } from '#src/contacts/events.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import type { News } from '#src/queue/notifications.ts'
import { raiseEvents } from '#src/events/raise.ts'
import { newId } from '#src/platform/id.ts'
import { laneOf } from './webhook-calls.ts'
import type { DueEnrolment } from './due.ts'
import type { Sendable } from './mail-steps.ts'
import { sendMails, type NewMail } from './mail-queue.ts'
import type { Due } from '#src/queue/due-schedule.ts'
import { sql } from '#src/stores/sql.ts'
import { moveEnrolments, notePassed, type Taken } from './enrolment-progress.ts'
import type { Effect } from './step-engine.ts'

export interface Outcome {
  readonly due: readonly Due[]
  readonly news: News
}

/** Contacts that change are locked (`holdContacts`). `sendable` answers what a mail step of an enrolment sends. */
export async function carryOut(
  tx: Queryable,
  taken: readonly Taken[],
  sendable: (enrolment: DueEnrolment, stepId: string) => Sendable,
  now: Date,
): Promise<Outcome> {
  await changeTags(tx, taken, now)
  const joining = await changeAudiences(tx, taken, now)
  await storeCalls(tx, taken, now)
  const sent = await sendMails(tx, mailsOf(taken, sendable, now), now)
  await moveEnrolments(tx, taken, now)
  await notePassed(tx, taken)
  return { due: sent.due, news: together([joining, sent.news]) }
}

function together(news: readonly News[]): News {
  const workspaces = new Set(news.flatMap((one) => one.workspaces))
  return { hasDeliveries: news.some(({ hasDeliveries }) => hasDeliveries), workspaces: [...workspaces] }
}

interface Done<K extends Effect['kind']> extends Taken {
  readonly effect: Extract<Effect, { kind: K }>
}

function effectsOf<K extends Effect['kind']>(taken: readonly Taken[], kind: K): Done<K>[] {
  return taken.flatMap((one) =>
    one.walked.effects.flatMap((effect) =>
      effect.kind === kind ? [{ ...one, effect: effect as Extract<Effect, { kind: K }> }] : [],
    ),
  )
}

/** Of a contact: a further one is not given. */
const MOST_TAGS = 100

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
          SELECT tag, ${MOST_TAGS} + place
          FROM jsonb_array_elements_text(i.added) WITH ORDINALITY AS a (tag, place)
          WHERE NOT tag = ANY (c.tags)
        ) both_sides
        ORDER BY place
        LIMIT ${MOST_TAGS}
      ),
      updated_at = $4
    FROM unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) AS i (id, added, removed)
    WHERE c.id = i.id
  `,
)

/** A contact that is in several automations at once may stand here several times: what each asks for is put together. */
async function changeTags(tx: Queryable, taken: readonly Taken[], now: Date): Promise<void> {
  const byContact = new Map<string, Map<string, boolean>>()
  for (const {
    enrolment: { contactId },
    effect,
  } of effectsOf(taken, 'tag')) {
    const tags = byContact.get(contactId) ?? new Map<string, boolean>()
    // what was asked for last counts, and comes last
    tags.delete(effect.tag)
    byContact.set(contactId, tags.set(effect.tag, effect.isAdded))
  }
  if (byContact.size === 0) return
  const rows = [...byContact].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const having = (tags: ReadonlyMap<string, boolean>, is: boolean): string =>
    JSON.stringify([...tags].filter(([, isAdded]) => isAdded === is).map(([tag]) => tag))
  await tx.query(TAGS, [
    ...columnsOf(rows, [([id]) => id, ([, tags]) => having(tags, true), ([, tags]) => having(tags, false)]),
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
// memberships of deleted audiences go with it: a contact in nothing else would be taken for one of theirs, and removed
const LEAVE = prepared(
  'automation-leave',
  sql`
    DELETE FROM memberships
    WHERE contact_id = ANY ($2)
      AND (audience_id = $1 OR EXISTS (SELECT 1 FROM audiences a WHERE a.id = audience_id AND a.deleted_at IS NOT NULL))
  `,
)

/** Audience by audience, in the order of their ids. One that was deleted is passed over. Who unsubscribed stays so. */
async function changeAudiences(tx: Queryable, taken: readonly Taken[], now: Date): Promise<News> {
  const last = new Map<string, Done<'audience'>>()
  for (const one of effectsOf(taken, 'audience')) last.set(`${one.effect.audienceId} ${one.enrolment.contactId}`, one)
  const byAudience = Map.groupBy(
    last.values(),
    ({ enrolment, effect }) => `${effect.audienceId} ${enrolment.workspaceId}`,
  )
  const news: News[] = []
  for (const [key, members] of [...byAudience].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [audienceId = '', workspaceId = ''] = key.split(' ')
    const at: Target = { workspaceId, audienceId, now }
    const held = await holdAudience(tx, at)
    if (held === null) continue
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
  return together(news)
}

const CALLS = prepared(
  'automation-calls-store',
  sql`
    INSERT INTO automation_calls (
      id, workspace_id, automation_id, enrolment_id, step, lane, url, body, due_at, created_at
    )
    SELECT *, $9, $9
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[]) AS i
  `,
)

async function storeCalls(tx: Queryable, taken: readonly Taken[], now: Date): Promise<void> {
  const calls = effectsOf(taken, 'call').map((one) => ({ ...one, id: newId(now.getTime()) }))
  if (calls.length === 0) return
  await tx.query(CALLS, [
    ...columnsOf(calls, [
      (one) => one.id,
      (one) => one.enrolment.workspaceId,
      (one) => one.enrolment.automationId,
      (one) => one.enrolment.id,
      (one) => one.effect.stepId,
      (one) => laneOf(one.enrolment.workspaceId, one.effect.url),
      (one) => one.effect.url,
      (one) => JSON.stringify(callBody(one, now)),
    ]),
    now,
  ])
}

/** What a webhook step tells. */
function callBody({ id, enrolment, contact, effect }: Done<'call'> & { readonly id: string }, now: Date): object {
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

function mailsOf(
  taken: readonly Taken[],
  sendable: (enrolment: DueEnrolment, stepId: string) => Sendable,
  now: Date,
): NewMail[] {
  return effectsOf(taken, 'mail').map(({ enrolment, contact, effect: { step, event } }) => {
    const what = sendable(enrolment, step.id)
    if (what.kind !== 'ready') throw new Error(`a walk went past a mail that cannot be sent: ${what.reason}`)
    return {
      id: newId(now.getTime()),
      eventId: newId(now.getTime()),
      enrolment,
      email: contact.email,
      step,
      event,
      ...what,
    }
  })
}
