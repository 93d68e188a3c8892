/** Fields of automations that are accepted and refused, and the calls of /public/automations. */
import { newId } from '#src/platform/id.ts'
import { listOf, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

export const EXIT = [{ type: 'exit' }]

/** Spellings of a trigger: the fields of a request, and the type and configuration that are stored. */
export const ALIASES: readonly (readonly [what: string, fields: object, type: string, config: object])[] = [
  [
    'snake case',
    { trigger_type: 'contact_event', trigger_config: { event_name: 'a' } },
    'contact_event',
    { event_name: 'a' },
  ],
  [
    'camel case',
    { triggerType: 'contactEvent', triggerConfig: { eventName: 'a' } },
    'contact_event',
    { event_name: 'a' },
  ],
  ['words', { trigger_type: 'Contact Event', trigger_config: { event: ' a ' } }, 'contact_event', { event_name: 'a' }],
  ['an object', { trigger: { type: 'event', config: { event_name: 'a' } } }, 'contact_event', { event_name: 'a' }],
  ['a flat object', { trigger: { type: 'event', event_name: 'a' } }, 'contact_event', { event_name: 'a' }],
  ['a text', { trigger: 'manual' }, 'manual', {}],
  [
    'a wall time',
    { trigger: { type: 'date_time', at: '2031-07-01_10:00:00', timezone: 'Europe/Berlin' } },
    'date_time',
    { at: '2031-07-01T08:00:00.000Z', timezone: 'Europe/Berlin' },
  ],
  [
    'an instant',
    { trigger_type: 'date_time', trigger_config: { at: '2031-07-01T10:00:00Z' } },
    'date_time',
    { at: '2031-07-01T10:00:00.000Z', timezone: 'UTC' },
  ],
]

/** Fields that are refused, and the path that the response names. */
export const REFUSED: readonly (readonly [why: string, fields: object, path: string])[] = [
  ['no name', { name: undefined }, 'name'],
  ['a name with a line break', { name: 'a\nb' }, 'name'],
  ['a long name', { name: 'x'.repeat(256) }, 'name'],
  ['another trigger', { trigger_type: 'full_moon' }, 'trigger_type'],
  ['another status', { status: 'asleep' }, 'status'],
  ['no event name', { trigger_type: 'contact_event' }, 'trigger_config.event_name'],
  [
    'an empty event name',
    { trigger_type: 'contact_event', trigger_config: { event_name: ' ' } },
    'trigger_config.event_name',
  ],
  [
    'a long event name',
    { trigger_type: 'contact_event', trigger_config: { event_name: 'x'.repeat(256) } },
    'trigger_config.event_name',
  ],
  [
    'no audience',
    { trigger_type: 'contact_added_to_audience', trigger_config: { audience_id: 'x' } },
    'trigger_config.audience_id',
  ],
  ['no moment', { trigger_type: 'date_time', trigger_config: {} }, 'trigger_config.at'],
  [
    'no such zone',
    { trigger_type: 'date_time', trigger_config: { at: '2031-07-01', timezone: 'Mars' } },
    'trigger_config.timezone',
  ],
  ['steps that are not a list', { steps: {} }, 'steps'],
  ['a step of no kind', { steps: [{ type: 'dance' }] }, 'steps.0.type'],
  ['active without steps', { status: 'active' }, 'steps'],
  ['created as paused', { status: 'paused' }, 'status'],
]

export const idOf = ({ body }: TestResponse): string => textOf(body['data']?.['id'])
export const errorOf = ({ status, body }: TestResponse): readonly unknown[] => [status, body['error']]
export const pathsOf = ({ body }: TestResponse): string[] =>
  listOf(body['details']).map((detail) => textOf(detail['path']))

export interface AutomationCalls {
  readonly call: (method: string, path: string, body?: unknown, key?: string) => Promise<TestResponse>
  readonly create: (fields: object, key?: string) => Promise<TestResponse>
  readonly update: (id: string, fields: object) => Promise<TestResponse>
  /** Creates an active automation that waits for an event, and returns its id. */
  readonly waiting: (event: string, fields?: object) => Promise<string>
  readonly track: (email: string, event: string, fields?: object) => Promise<TestResponse>
  readonly addContact: (email: string, workspaceId?: string) => Promise<string>
}

/** The calls of an API that a hook starts later. */
export function automationCalls(started: () => TestApi): AutomationCalls {
  const call: AutomationCalls['call'] = (method, path, body, key = started().admin) =>
    started().call(method, `/public/automations${path}`, { key, ...(body === undefined ? {} : { body }) })
  const create: AutomationCalls['create'] = (fields, key) =>
    call('POST', '/create', { name: 'Welcome', ...fields }, key)
  return {
    call,
    create,
    update: (id, fields) => call('PATCH', `/update-automation/${id}`, fields),
    waiting: async (event, fields = {}) =>
      idOf(
        await create({
          trigger_type: 'contact_event',
          trigger_config: { event_name: event },
          steps: EXIT,
          status: 'active',
          ...fields,
        }),
      ),
    track: (email, event, fields = {}) => call('POST', '/events/track', { email, event_name: event, ...fields }),
    addContact: async (email, workspaceId = started().workspaceId) => {
      const id = newId()
      await started().db.query('INSERT INTO contacts (id, workspace_id, email) VALUES ($1, $2, $3)', [
        id,
        workspaceId,
        email,
      ])
      return id
    },
  }
}
