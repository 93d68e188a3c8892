/**
 * Follows the changes that the server reports (server-sent events), so that no page polls: each topic invalidates the
 * queries that show it. A burst of changes costs one request a second for each query on the page. The browser connects
 * again by itself; what was missed is reported by `reset` or after `ready`.
 */
import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { queryOf } from './endpoint.ts'
import { invalidate, invalidatePaths } from './queries.ts'

/** Beginnings of the paths, below /api/v1, whose answers change with a topic. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  messages: [
    '/public/emails',
    '/public/events',
    '/public/queue',
    '/public/attention',
    '/public/checklist',
    '/send-email',
    '/public/contacts/get-contact-history',
  ],
  contacts: ['/public/contacts', '/public/segments'],
  audiences: ['/public/audiences'],
  imports: ['/public/contacts/imports'],
  domains: ['/public/domains', '/public/attention', '/public/checklist', '/public/dmarc', '/public/bimi'],
  campaigns: ['/public/campaigns', '/public/statistics'],
  automations: ['/public/automations'],
  templates: ['/templates'],
  webhooks: ['/public/webhooks', '/public/attention'],
  accounts: ['/public/accounts', '/public/attention'],
  'api-keys': ['/public/api-keys', '/public/attention', '/public/checklist'],
  'captured-emails': ['/public/emails/captured'],
  'received-emails': ['/public/inbound/emails'],
  'inbound-routes': ['/public/inbound/routes'],
  segments: ['/public/segments'],
  suppressions: ['/public/suppressions'],
  members: ['/public/members', '/public/invitations'],
  'open-mail': ['/public/queue'],
  // the checklist and what needs attention are read from the statistics, which count mail some seconds later
  statistics: ['/public/statistics', '/public/checklist', '/public/attention'],
  queue: ['/public/queue', '/admin/queue', '/admin/actions', '/admin/emails'],
  notices: ['/admin/notices'],
  nodes: ['/admin/nodes'],
  suspensions: ['/admin/suspensions', '/admin/shaping', '/admin/deliverability'],
  checks: ['/admin/checks'],
}
/** What recipients do is in events of messages, and in the results of what sent them, also long after it has ended. */
const ENGAGEMENT = /"email\.(?:opened|clicked|complained|unsubscribed)"|"has_more":true/
const RESULTS: readonly string[] = ['/public/campaigns', '/public/automations', '/public/statistics']
const MIN_INTERVAL_MS = 1000
const RECONNECT_MS = 5000

export type Connection = 'connecting' | 'live' | 'lost'

/** Opens the stream of a workspace, or the operator's for null, while the component is shown. */
export function useChanges(workspaceId: string | null, isEnabled = true): Connection {
  const client = useQueryClient()
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => {
    if (!isEnabled) return undefined
    const path = workspaceId === null ? '/api/v1/admin/changes' : '/api/v1/public/changes'
    return follow(path + queryOf({ workspace: workspaceId }), createInvalidator(client), setConnection)
  }, [client, workspaceId, isEnabled])
  return connection
}

/** The beginnings of the paths that an event of the stream concerns. `data` is its JSON. */
export function pathsOfChange(topic: string, data: string): readonly string[] {
  const paths = PATHS[topic] ?? []
  return topic === 'messages' && ENGAGEMENT.test(data) ? [...paths, ...RESULTS] : paths
}

interface Invalidator {
  paths(changed: readonly string[]): void
  all(): void
  stop(): void
}

/** Collects paths, and invalidates at most once a second. */
function createInvalidator(client: QueryClient): Invalidator {
  const pending = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | null = null
  let lastAt = 0
  const run = (): void => {
    timer = null
    lastAt = Date.now()
    const paths = [...pending]
    pending.clear()
    void invalidatePaths(client, paths)
  }
  return {
    paths: (changed) => {
      for (const path of changed) pending.add(path)
      timer ??= setTimeout(run, Math.max(0, lastAt + MIN_INTERVAL_MS - Date.now()))
    },
    all: () => void invalidate(client, () => true),
    stop: () => {
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function follow(url: string, invalidator: Invalidator, report: (connection: Connection) => void): () => void {
  let source: EventSource | null = null
  let retry: ReturnType<typeof setTimeout> | null = null
  const open = (): void => {
    source = new EventSource(url)
    // what changed after the page was read and before the stream began is in no event
    source.addEventListener('ready', () => {
      invalidator.all()
      report('live')
    })
    source.addEventListener('reset', () => invalidator.all())
    source.addEventListener('closed', () => {
      source?.close()
      invalidator.all() // an ended session shows in the next request
      report('lost')
    })
    for (const topic of Object.keys(PATHS))
      source.addEventListener(topic, ({ data }: MessageEvent<string>) => invalidator.paths(pathsOfChange(topic, data)))
    source.addEventListener('error', () => {
      report('lost')
      // the browser gives up after an answer that is not a stream, such as 503
      if (source?.readyState === EventSource.CLOSED) retry = setTimeout(open, RECONNECT_MS)
    })
  }
  open()
  return () => {
    source?.close()
    if (retry !== null) clearTimeout(retry)
    invalidator.stop()
  }
}
