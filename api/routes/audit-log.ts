/**
 * The audit log: every change by a key, a person, the operator or a command. A workspace reads the entries about
 * itself; who of the operator's people made a change, and from where, only the operator reads.
 */
import { z } from 'zod'
import { invalid } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { listAuditEntries, type AuditEntry, type AuditFilter } from '#src/operator/audit-log.ts'
import { mapPage, type Page } from '#src/stores/page.ts'
import { openPage, type ListPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'

const text = z.string().max(320, 'is too long').optional()
const filterFields = {
  object_type: text.meta({ description: 'the kind of object, such as `api_key` or `domain`' }),
  object_id: text.meta({ description: 'the id of the object; for a suppression its address' }),
  action: text.meta({ description: 'the operation of this API, such as `delete-domain`, or a command' }),
  actor: text.meta({ description: 'the id of an API key or user' }),
  limit: paging.shape.limit,
  cursor: paging.shape.cursor,
}

const values = z.record(z.string(), z.unknown()).nullable()
const entrySchema = z
  .object({
    id: z.uuid(),
    created_at: timestamp,
    workspace_id: z.uuid().nullable().meta({ description: 'null: of the whole service' }),
    actor: z.object({
      type: z.enum(['key', 'user', 'operator', 'cli', 'mailbox', 'schedule']),
      id: z
        .string()
        .nullable()
        .meta({
          description:
            'the id of the API key or user; the address of a mailbox whose owner connected it; for the operator the ' +
            'id of their user or the name in `X-Operator`; the user and host of a command; the setting of a schedule',
        }),
      name: z.string().nullable().meta({ description: 'the name of the API key or user, while it exists' }),
    }),
    ip_address: z.string().nullable(),
    request_id: z.string().nullable().meta({ description: 'the `X-Request-Id` of the response' }),
    action: z.string(),
    change: z.enum(['create', 'update', 'delete']),
    object: z.object({
      type: z.string(),
      id: z.string().meta({ description: 'empty for a change of more than 100 rows' }),
    }),
    before: values.meta({ description: 'the changed fields; a secret is `(hidden)`' }),
    after: values,
  })
  .meta({ id: 'AuditEntry' })
const response = envelope(z.object({ entries: z.array(entrySchema), next: z.string().nullable(), ...nextCursorField }))

const DESCRIPTION =
  'Newest first. An update has only the fields that changed. Secrets are never in it, long values are cut, and a ' +
  'statement that changes more than 100 rows is one entry with their number.'

const list = route({
  name: 'list-audit-log',
  summary: 'List who changed what in the workspace',
  description: `${DESCRIPTION} Changes by the operator are in it without name and address.`,
  method: 'GET',
  paths: ['/public/audit-log'],
  access: { admin: 'audit:read' },
  query: z.object(filterFields),
  status: 200,
  response,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'list-audit-log', request, idOfEntry)
    if (isRefusal(page)) return page
    const found = await listAuditEntries(ctx.db, { workspaceId: caller.workspaceId, ...filterOf(query) }, page)
    return respond(mapPage(found, forWorkspace), page)
  },
})

const listAll = route({
  name: 'admin-list-audit-log',
  summary: 'List who changed what, in all workspaces and in the service',
  description: DESCRIPTION,
  method: 'GET',
  paths: ['/admin/audit-log'],
  access: 'operator',
  query: z.object({ ...filterFields, workspace_id: z.string().optional() }),
  status: 200,
  response,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { workspace_id: workspaceId = null, ...given } = request.query
    const page = openPage(ctx, 'admin-list-audit-log', request, idOfEntry)
    if (isRefusal(page)) return page
    if (workspaceId !== null && !isUuid(workspaceId))
      return invalid([{ path: 'workspace_id', message: 'must be a UUID' }])
    return respond(await listAuditEntries(ctx.db, { workspaceId, ...filterOf(given) }, page), page)
  },
})

type FilterFields = Readonly<Partial<Record<'object_type' | 'object_id' | 'action' | 'actor', string | undefined>>>

function filterOf({
  object_type: kind,
  object_id: object,
  action,
  actor,
}: FilterFields): Omit<AuditFilter, 'workspaceId'> {
  return { kind, object, action, actor }
}

const OF_WORKSPACE: ReadonlySet<string> = new Set(['key', 'user', 'mailbox'])

function forWorkspace(entry: AuditEntry): AuditEntry {
  return OF_WORKSPACE.has(entry.actorKind) ? entry : { ...entry, actor: '', actorName: null, address: null }
}

/** Reads `next`, which is the id of an entry. */
const idOfEntry = (next: string): string | null => (isUuid(next) ? next : null)

function respond({ items: entries, next: position }: Page<AuditEntry>, page: ListPage): { readonly body: object } {
  const next = entries.length < page.limit ? null : (entries.at(-1)?.id ?? null)
  const data = { entries: entries.map(present), next, ...nextCursor(position, page) }
  return { body: { success: true, message: `${countText(entries.length, 'entry', 'entries')}.`, data } }
}

function present(entry: AuditEntry): Record<string, unknown> {
  return {
    id: entry.id,
    created_at: entry.at.toISOString(),
    workspace_id: entry.workspaceId,
    actor: { type: entry.actorKind, id: entry.actor === '' ? null : entry.actor, name: entry.actorName },
    ip_address: entry.address,
    request_id: entry.requestId,
    action: entry.action,
    change: entry.change,
    object: { type: entry.kind, id: entry.object },
    before: entry.before,
    after: entry.after,
  }
}

export const AUDIT_ROUTES: readonly AnyRoute[] = [list, listAll]
