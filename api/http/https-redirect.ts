/**
 * Redirects browsers from http to https, for HTTP_REDIRECT_PORT. Only to host names that this installation serves: a
 * forged Host leads nowhere. Other methods than GET and HEAD are refused, so that a program that sends its API key in
 * plain text fails at once and is corrected.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

const REFUSED = 'Use https: this port only redirects. A key that was sent here has crossed the network in plain text.\n'

/** `findOrigin` returns the https origin of a host name; null for a foreign one. */
export function createHttpsRedirect(
  findOrigin: (host: string) => string | null,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    const host = (req.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
    const origin = findOrigin(host)
    const answer = (status: number, text: string, headers = {}): void =>
      void res.writeHead(status, { 'Content-Type': 'text/plain', ...headers }).end(text)
    if (req.method !== 'GET' && req.method !== 'HEAD') return answer(403, REFUSED)
    const path = req.url ?? '/'
    if (origin === null || !path.startsWith('/')) return answer(404, 'This server has no such host.\n')
    answer(308, '', { Location: `${origin}${path}` })
  }
}
