/**
 * The `webhooks` of the OpenAPI document: one for each row of the table of event types, with the schema of its body. The common fields are
 * those that `payloadOf` writes; a field that a type lifts out of its data has its own schema here.
 */
import { z, type ZodType } from 'zod'
import { EVENT_TYPES, type EventType } from '#src/webhooks/event-types.ts'
import { payloadOf } from '#src/webhooks/payload.ts'
import type { Json, SchemaBook } from './openapi-schemas.ts'
import { moment } from './shapes.ts'

type Lift = (typeof EVENT_TYPES)[EventType]['lifts'][number]

const LIFTS: Readonly<Record<Lift, ZodType>> = {
  bounce_type: z.enum(['hard', 'soft']).nullable().meta({ description: 'hard: for good; soft: given up for now' }),
  bounce_code: z.string().nullable().meta({ description: 'the enhanced status code, such as 5.1.1' }),
  bounce_class: z.string().nullable().meta({ description: 'what kind of trouble it was, such as no-such-user' }),
  bounce_message: z.string().nullable().meta({ description: 'the words of the remote server' }),
  url: z.string().nullable().meta({ description: 'the link that was followed' }),
  machine: z.boolean().nullable().meta({ description: 'true: a scanner or a proxy, not the person' }),
}

function bodyOf(type: EventType): ZodType {
  const lifts = Object.fromEntries(EVENT_TYPES[type].lifts.map((name) => [name, LIFTS[name]]))
  return z
    .object({
      id: z.string().meta({ description: 'evt_…, the same at every try' }),
      type: z.literal(type),
      event: z.literal(type).meta({ description: 'the same as type' }),
      timestamp: moment,
      workspace_id: z.uuid(),
      email_id: z.string().nullable(),
      message_id: z.string().nullable(),
      recipient: z.string().nullable().meta({ description: 'the address the event is about' }),
      to: z.array(z.string()).nullable().meta({ description: 'what the message was addressed to' }),
      subject: z.string().nullable(),
      sequence: z.int().nullable().meta({ description: 'orders the events of one message' }),
      metadata: z.record(z.string(), z.unknown()).meta({ description: 'what the sender gave with the message' }),
      ...lifts,
      data: z.record(z.string(), z.unknown()).meta({ description: 'what else is known of the event' }),
    })
    .meta({ id: `${pascalOf(type)}Event`, description: EVENT_TYPES[type].meaning, examples: [exampleOf(type)] })
}

function pascalOf(type: EventType): string {
  return type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const AT = new Date('2031-01-02T03:04:05.678Z')
const WORKSPACE = '019a9a00-0000-7000-8000-000000000001'

/** A body as it is sent; its data are those of the test event. */
function exampleOf(type: EventType): unknown {
  const isAboutMail = type.startsWith('email.')
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

const HEADERS: Readonly<Record<string, string>> = {
  'webhook-id': 'evt_…, the same at every try',
  'webhook-timestamp': 'seconds since 1970, of this try',
  'webhook-signature':
    '`v1,<base64>` of HMAC-SHA256 over `id.timestamp.body` (Standard Webhooks); two during a rotation',
  'X-Webhook-Signature': '`sha256=<hex>` of HMAC-SHA256 over the body',
}

/** By type, as OpenAPI 3.1 has them. */
export function webhooksOf(schemas: SchemaBook): Json {
  return Object.fromEntries(
    (Object.keys(EVENT_TYPES) as EventType[]).map((type) => [type, { post: operationOf(type, schemas) }]),
  )
}

function operationOf(type: EventType, schemas: SchemaBook): Json {
  const name = `${pascalOf(type)}Event`
  return {
    operationId: `on${name}`,
    summary: EVENT_TYPES[type].meaning,
    security: [],
    parameters: Object.entries(HEADERS).map(([header, description]) => ({
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
      '2XX': { description: 'Taken. Anything else is a failed try, and there are seven more.' },
      '410': { description: 'Switches the endpoint off.' },
    },
  }
}
