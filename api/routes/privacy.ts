/**
 * What is stored about a person: export it, or erase it. The address is in the body, never in a URL, which proxies and
 * logs record. Both leave an entry in the audit log without the address.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { emailRule } from '#src/contacts/field-rules.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { beginErasure, findErasure, type Erasure } from '#src/privacy/erasure.ts'
import { readPerson, recordExport } from '#src/privacy/person-export.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'

const ACCESS = { admin: 'privacy:manage' } as const

const email = z.string().transform((text, sink) => {
  const parsed = emailRule(text.trim())
  if (parsed.ok) return parsed.value
  sink.addIssue({ code: 'custom', message: parsed.reason })
  return z.NEVER
})
const emailField = email.meta({ description: 'of the person; all spellings of the mailbox are included' })

const erasureSchema = z
  .object({
    id: z.uuid(),
    status: z.enum(['running', 'done']),
    is_waiting: z.boolean().meta({ description: 'it waits for a message that is open, perhaps for others' }),
    problem: z.string().nullable().meta({ description: 'why the last try failed; null if it did not. It is repeated' }),
    deleted: z.record(z.string(), z.int()).meta({ description: 'the number of rows so far, by what they are' }),
    created_at: timestamp,
    ended_at: timestamp.nullable().meta({ description: 'when it was done; null while it runs' }),
  })
  .meta({ id: 'Erasure' })

function present({
  id,
  state,
  isWaiting,
  problem,
  deleted,
  createdAt,
  endedAt,
}: Erasure): z.output<typeof erasureSchema> {
  return {
    id,
    status: state,
    is_waiting: isWaiting,
    problem,
    deleted,
    created_at: createdAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
  }
}

const erase = route({
  name: 'erase-person',
  summary: 'Erase everything that is stored about a person',
  description:
    'Deletes the contact, its memberships, messages to the person with their events, and more, in the background. ' +
    'Mail that waits is cancelled. A suppression stays as a hash, so that mail to the address stays suppressed. ' +
    'What was erased cannot be restored. If an erasure of the mailbox runs, it is the response.',
  method: 'POST',
  paths: ['/public/privacy/erase-person'],
  access: ACCESS,
  body: z.object({ email: emailField }),
  status: 201,
  response: envelope(erasureSchema),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller, body }) => {
    const erasure = await beginErasure(ctx.db, caller.workspaceId, body.email)
    const message = `The erasure has begun. Its state: get-erasure?id=${erasure.id}`
    return { body: { success: true, message, data: present(erasure) } }
  },
})

const status = route({
  name: 'get-erasure',
  summary: 'Get the state of an erasure',
  method: 'GET',
  paths: ['/public/privacy/get-erasure'],
  access: ACCESS,
  query: z.object({ id: z.string().meta({ description: 'of the erasure' }) }),
  status: 200,
  response: envelope(erasureSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query: { id } }) => {
    const erasure = isUuid(id) ? await findErasure(ctx.db, caller.workspaceId, id) : null
    if (erasure === null) return refuse('NOT_FOUND', 'There is no such erasure. Use the id that erase-person returned.')
    const message = erasure.state === 'done' ? 'The person is erased.' : 'The erasure is running.'
    return { body: { success: true, message, data: present(erasure) } }
  },
})

const exportPerson = route({
  name: 'export-person',
  summary: 'Export everything that is stored about a person',
  description:
    'One JSON object per line (NDJSON), with `kind` and `data`: contact, suppressions, captured mail, messages with ' +
    'texts, attachments, attempts and events, other events. If the response breaks off, `after` continues behind a ' +
    'message.',
  method: 'POST',
  paths: ['/public/privacy/export-person'],
  access: ACCESS,
  body: z.object({
    email: emailField,
    after: z.uuid().nullish().meta({ description: 'the `data.id` of the last message that was received' }),
  }),
  status: 200,
  produces: ['application/x-ndjson'],
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    const person = { workspaceId, email: body.email }
    await recordExport(ctx.db, person)
    const lines = async function* (): AsyncGenerator<string> {
      for await (const one of readPerson(ctx.db, person, body.after?.toLowerCase() ?? null))
        yield `${JSON.stringify(one)}\n`
    }
    return {
      body: Readable.from(lines(), { highWaterMark: 1 }),
      type: 'application/x-ndjson; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="person.ndjson"' },
    }
  },
})

export const PRIVACY_ROUTES: readonly AnyRoute[] = [erase, status, exportPerson]
