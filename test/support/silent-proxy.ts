/**
 * A proxy between a process and a store that can go silent, as a store whose host disappeared without closing its
 * connections: they stay open, and nothing is forwarded. A half-closed connection stays half-open while it is silent.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'

export interface SilentProxy {
  /** The URL of the store, by way of the proxy. */
  readonly url: string
  /** Connections that were accepted so far. */
  readonly accepted: number
  /** Connections that their client has not closed. */
  readonly open: number
  /**
   * Nothing is forwarded on the connections that are open now, ever again. New ones work, or, with `new`, are accepted
   * and stay silent until `resume`.
   */
  silence(which?: 'open' | 'new'): void
  /** New connections work again. */
  resume(): void
  stop(): Promise<void>
}

/** `storeUrl`: of a PostgreSQL or Redis on a unix socket. */
export async function startSilentProxy(storeUrl: string): Promise<SilentProxy> {
  const pairs = new Map<Socket, Socket>()
  const open = new Set<Socket>()
  let isSilent = false
  let accepted = 0
  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted++
    client.on('error', () => undefined)
    const store = connect({ ...targetOf(storeUrl), allowHalfOpen: true })
    store.on('error', () => client.destroy())
    pairs.set(client, store)
    open.add(client)
    client.on('end', () => open.delete(client))
    client.on('close', () => {
      open.delete(client)
      pairs.delete(client)
      store.destroy()
    })
    if (isSilent) client.resume()
    else client.pipe(store).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: proxiedUrl(storeUrl, port),
    get accepted() {
      return accepted
    },
    get open() {
      return open.size
    },
    silence: (which = 'open') => {
      isSilent = which === 'new'
      for (const [client, store] of pairs) {
        client.unpipe(store)
        store.unpipe(client)
        client.resume()
        store.resume()
      }
    },
    resume: () => {
      isSilent = false
    },
    stop: async () => {
      for (const client of pairs.keys()) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export function targetOf(storeUrl: string): NetConnectOpts {
  const url = new URL(storeUrl)
  if (url.protocol === 'unix:') return { path: decodeURIComponent(url.pathname) }
  const folder = url.searchParams.get('host')
  if (folder !== null) return { path: `${folder}/.s.PGSQL.${url.searchParams.get('port') ?? (url.port || 5432)}` }
  return { host: url.hostname, port: Number(url.port) }
}

export function proxiedUrl(storeUrl: string, port: number): string {
  const url = new URL(storeUrl)
  if (url.protocol === 'unix:') return `redis://127.0.0.1:${port}/${url.searchParams.get('db') ?? 0}`
  url.searchParams.delete('host')
  url.searchParams.delete('port')
  return `postgres://${url.username || 'postgres'}@127.0.0.1:${port}${url.pathname}${url.search}`
}
