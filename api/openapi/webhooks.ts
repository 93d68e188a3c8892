/**
 * The `webhooks` of the OpenAPI document: one for each row of the catalogue of events, with the schema of its body. The
 * common fields are those that `payloadOf` writes; the row has the fields of its own type.
 */
import { z, type ZodType } from 'zod'
import {
  EVENT_TYPES,
  EVENT_TYPE_NAMES,
  type EventField,
  type EventType,
  type EventTypeRow,
} from '#src/events/catalogue.ts'
import { payloadOf } from '#src/events/reported-event.ts'
import type { Json, SchemaRegistry } from './schemas.ts'
import { timestamp } from '#api/http/response-schemas.ts'

const FIELD_SCHEMAS: Readonly<Record<EventField['type'], (values: readonly string[] | undefined) => ZodType>> = {
  text: (values) => (values === undefined ? z.string() : z.enum(values)),
  boolean: () => z.boolean(),
}

function schemaOf({ type, values, meaning }: EventField): ZodType {
  return FIELD_SCHEMAS[type](values).nullable().meta({ description: meaning })
}

function bodyOf(type: EventType): ZodType {
  const { fields }: EventTypeRow = EVENT_TYPES[type]
  const own = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
  return z
    .object({
      id: z.string().meta({ description: 'evt_…, the same at every attempt' }),
      type: z.literal(type),
      event: z.literal(type).meta({ description: 'the same as type' }),
      timestamp: timestamp,
      workspace_id: z.uuid(),
      email_id: z.string().nullable(),
      message_id: z.string().nullable(),
      recipient: z.string().nullable().meta({ description: 'the address the event is about' }),
      to: z.array(z.string()).nullable().meta({ description: 'the addresses in the To header of the message' }),
      subject: z.string().nullable(),
      sequence: z.int().nullable().meta({ description: 'orders the events of one message' }),
      metadata: z
        .record(z.string(), z.unknown())
        .meta({ description: 'the metadata that the sender gave with the message' }),
      ...own,
      data: z.record(z.string(), z.unknown()).meta({ description: 'further fields of the event' }),
    })
    .meta({ id: `${pascalOf(type)}Event`, description: EVENT_TYPES[type].meaning, examples: [exampleOf(type)] })
}

function pascalOf(type: EventType): string {
  return type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const AT = new Date('2031-01-02T03:04:05.678Z')
const WORKSPACE = '019a9a00-0000-7000-8000-000000000001'

/** An example body, with the data of the test event. */
function exampleOf(type: EventType): unknown {
  const isAboutMail = type.startsWith('email.') && EVENT_TYPES[type].raisedBy !== 'change'
  const id = '01c1f5a1-38ae-7000-8000-0000000000aa'
  return JSON.parse(
    payloadOf({
      id,
      type,
      workspaceId: WORKSPACE,
      messageId: isAboutMail ? id.replace('aa', 'bb') : null,
      sequence: isAboutMail ? 3 : null,
      recipient: type.startsWith('domain.') ? null : 'recipient@example.com',
      data: EVENT_TYPES[type].sample,
      createdAt: AT,
      message: isAboutMail
        ? {
            to: [{ email: 'recipient@example.com' }],
            subject: 'Your order',
            metadata: { order: 1234 },
            campaignId: null,
            createdAt: AT,
          }
        : null,
    }),
  )
}

const WEBHOOK_HEADERS: Readonly<Record<string, string>> = {
  'webhook-id': 'evt_…, the same at every attempt',
  'webhook-timestamp': 'Unix seconds of this attempt',
  'webhook-signature':
    '`v1,<base64>` of HMAC-SHA256 over `id.timestamp.body` (Standard Webhooks); two during a rotation',
  'X-Webhook-Signature': '`sha256=<hex>` of HMAC-SHA256 over the body',
}

/** The `webhooks` object of OpenAPI 3.1, by event type. */
export function webhooksOf(schemas: SchemaRegistry): Json {
  return Object.fromEntries(EVENT_TYPE_NAMES.map((type) => [type, { post: operationOf(type, schemas) }]))
}

function operationOf(type: EventType, schemas: SchemaRegistry): Json {
  const name = `${pascalOf(type)}Event`
  return {
    operationId: `on${name}`,
    summary: EVENT_TYPES[type].meaning,
    security: [],
    parameters: Object.entries(WEBHOOK_HEADERS).map(([header, description]) => ({
      name: header,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemas.refer(bodyOf(type), 'output', name) } },
    },
    responses: {
      '2XX': { description: 'Accepted. After any other status the delivery is retried, up to seven times.' },
      '410': { description: 'Disables the endpoint.' },
    },
  }
}
