/**
 * The subjects of campaign and automation messages as their recipients see them. What is stored is the subject of the
 * content, with variables; lists show it rendered for the contact, with the contact's current data. Only subjects with
 * variables cost anything: one query for them and one for their contacts, and a rendering each.
 *
 * A subject that cannot be rendered is shown as it is stored: its contact was deleted, or the renderer is busy.
 */
import { loadMailContacts } from '#src/contacts/mail-contacts.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly } from '#src/stores/weeks.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import {
  createDeferredContentResolver,
  oneLine,
  type DeferredContentDeps,
  type DeferredMessage,
} from './deferred-content.ts'

export interface StoredSubject {
  /** Of the message. */
  readonly id: string
  readonly subject: string
}

export interface SubjectRenderer {
  /** The rendered subjects of messages that have variables in theirs, by id. Rejects if PostgreSQL is unavailable. */
  render(messages: readonly StoredSubject[]): Promise<ReadonlyMap<string, string>>
}

const VARIABLE = '{{'

const FIND = weekly(
  'deferred-subjects',
  (weeks) => sql`
    SELECT m.id AS "messageId", m.workspace_id AS "workspaceId", m.domain_id AS "domainId",
      m.campaign_id AS "campaignId", m.content_id AS "contentId", m.contact_id AS "contactId",
      m.audience_id AS "audienceId", m.params
    FROM messages m
    WHERE m.id = ANY ($1::uuid[]) AND m.content_id IS NOT NULL AND ${weeks.contain('m.id')}
  `,
)

type FoundMessage = Pick<DeferredMessage, 'messageId' | 'workspaceId' | 'domainId' | 'campaignId'> &
  Pick<DeferredMessage['deferredContent'], 'contentId' | 'contactId' | 'audienceId' | 'params'>

/** No part of the mail but the subject is rendered. */
const NO_TEXT = ''

export function createSubjectRenderer(
  deps: DeferredContentDeps,
  renderer: Pick<Renderer, 'renderMany'>,
): SubjectRenderer {
  const resolver = createDeferredContentResolver(deps)

  async function renderOne(message: DeferredMessage): Promise<string | null> {
    const resolved = await resolver.resolve(message)
    if (resolved.kind !== 'filled') return null
    const { key, subject } = resolved.source
    const source = { key: `${key} subject`, subject, html: null, text: NO_TEXT }
    const [rendered] = await renderer.renderMany(source, [resolved.params])
    return rendered?.ok === true ? oneLine(rendered.subject) : null
  }

  return {
    async render(messages) {
      const ids = messages.filter(({ subject }) => subject.includes(VARIABLE)).map(({ id }) => id)
      if (ids.length === 0) return new Map()
      const { rows } = await deps.ctx.db.query<FoundMessage>(FIND.for(ids), [ids])
      const contacts = await loadMailContacts(deps.ctx.db, rows)
      const subjects = await Promise.all(
        rows.map(({ messageId, workspaceId, domainId, campaignId, ...deferredContent }, i) =>
          renderOne({
            messageId,
            n: 0,
            workspaceId,
            domainId,
            campaignId,
            deferredContent,
            contact: contacts[i] ?? null,
          }),
        ),
      )
      return new Map(rows.flatMap(({ messageId }, i) => (subjects[i] == null ? [] : [[messageId, subjects[i]]])))
    },
  }
}
