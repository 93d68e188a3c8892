/** Reads server-sent events for tests, as a browser does: fields by line, an empty line ends an event. */
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Json } from './api.ts'
import { until } from './until.ts'

export interface StreamEvent {
  readonly type: string
  readonly data: Json
  readonly id: string | null
}

export interface EventStream {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Everything that arrived; the whole body of a response that is no stream. */
  readonly text: string
  readonly events: readonly StreamEvent[]
  /** The id of the last event that has one. */
  readonly lastId: string
  readonly isEnded: boolean
  /** The first event that matches, of those that arrived or will. */
  next(matches: (event: StreamEvent) => boolean): Promise<StreamEvent>
  /** The changes of an object, or of a topic. */
  changesOf(topic: string): Json[]
  /** Reads nothing more; the connection stays open. */
  pause(): void
  close(): void
}

export interface StreamOptions {
  /** Null: none, for a session in the headers. */
  readonly key: string | null
  readonly lastId?: string
  readonly headers?: Readonly<Record<string, string>>
}

export async function openEventStream(url: string, { key, lastId, headers }: StreamOptions): Promise<EventStream> {
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, {
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
        ...headers,
      },
      agent: false,
    })
      .once('response', resolve)
      .once('error', reject)
      .end()
  })
  let [text, isEnded] = ['', false]
  message.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  message.once('close', () => (isEnded = true)).on('error', () => undefined)
  const events = (): StreamEvent[] => text.split('\n\n').slice(0, -1).flatMap(parseEvent)
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    get text() {
      return text
    },
    get events() {
      return events()
    },
    get lastId() {
      return events().findLast(({ id }) => id !== null)?.id ?? ''
    },
    get isEnded() {
      return isEnded
    },
    next: async (matches) => {
      let found: StreamEvent | undefined
      await until(() => (found = events().find(matches)) !== undefined)
      return found as StreamEvent
    },
    changesOf: (topic) =>
      events()
        .filter(({ type }) => type === topic)
        .flatMap(({ data }) => data['changes'] as unknown as Json[]),
    pause: () => void message.pause(),
    close: () => void message.destroy(),
  }
}

function parseEvent(block: string): StreamEvent[] {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]))
  const [type, data] = [fields.get('event'), fields.get('data')]
  if (type === undefined || data === undefined) return []
  return [{ type, data: JSON.parse(data) as Json, id: fields.get('id') ?? null }]
}
