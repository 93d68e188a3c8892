/**
 * Follows the changes that the server reports (server-sent events), so that no page polls: each topic invalidates the
 * queries that show it. A burst of changes costs one request a second for each query on the page, and four for one that
 * shows progress. The browser connects again by itself; what was missed is reported by `reset` or after `ready`.
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
  domains: ['/public/domains', '/public/attention', '/public/checklist'],
  'dmarc-reports': ['/public/domains/dmarc'],
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
  erasures: ['/public/privacy/get-erasure'],
  members: ['/public/members', '/public/invitations'],
  'open-mail': ['/public/queue'],
  // the checklist and what needs attention are read from the statistics, which count mail some seconds later
  statistics: ['/public/statistics', '/public/checklist', '/public/attention'],
  queue: ['/public/queue', '/admin/queue', '/admin/emails'],
  actions: ['/admin/actions'],
  reports: ['/admin/dmarc', '/admin/tls-reports', '/admin/reports'],
  'held-suppressions': ['/admin/held-suppressions'],
  'suppression-reviews': ['/admin/suppression-reviews'],
  notices: ['/admin/notices'],
  nodes: ['/admin/nodes'],
  suspensions: ['/admin/suspensions', '/admin/shaping', '/admin/deliverability'],
  checks: ['/admin/checks'],
}
/** What recipients do is in events of messages, and in the results of what sent them, also long after it has ended. */
const ENGAGEMENT = /"email\.(?:opened|clicked|complained|unsubscribed)"|"has_more":true/
const RESULTS: readonly string[] = ['/public/campaigns', '/public/automations', '/public/statistics']
const MIN_INTERVAL_MS = 1000
/** What a person watches until it ends: a bar that moves once a second looks stuck. */
const PROGRESS: readonly string[] = ['imports', 'suppression-reviews', 'actions', 'erasures']
const PROGRESS_INTERVAL_MS = 250
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
  add(topic: string, paths: readonly string[]): void
  all(): void
  stop(): void
}

interface PathCollector {
  add(paths: readonly string[]): void
  stop(): void
}

function createInvalidator(client: QueryClient): Invalidator {
  const [progress, others] = [createCollector(client, PROGRESS_INTERVAL_MS), createCollector(client, MIN_INTERVAL_MS)]
  return {
    add: (topic, paths) => (PROGRESS.includes(topic) ? progress : others).add(paths),
    all: () => void invalidate(client, () => true),
    stop: () => {
      progress.stop()
      others.stop()
    },
  }
}

/** Collects paths, and invalidates them at most once in an interval. */
function createCollector(client: QueryClient, minIntervalMs: number): PathCollector {
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
    add: (paths) => {
      for (const path of paths) pending.add(path)
      timer ??= setTimeout(run, Math.max(0, lastAt + minIntervalMs - Date.now()))
    },
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
      source.addEventListener(topic, ({ data }: MessageEvent<string>) =>
        invalidator.add(topic, pathsOfChange(topic, data)),
      )
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
