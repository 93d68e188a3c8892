import { assert } from 'chai'
import { pino } from 'pino'
import type { Metrics } from './metrics.ts'
import { recordInvalidRequest, recordRequest } from './request-log.ts'

const metrics: Metrics = {
  observe: () => undefined,
  render: () => Promise.resolve(''),
  stop: () => Promise.resolve(),
}
const REQUEST = {
  requestId: 'r-1',
  route: 'get-email-by-path',
  path: '/api/v1/public/emails/get-email/:id',
  method: 'GET',
  status: 404,
  workspaceId: 'w-1',
  peer: '192.0.2.7',
}

function record(accessLog: boolean): Record<string, unknown>[] {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) })
  const ctx = { config: { accessLog }, metrics, log }
  recordRequest(ctx, { ...REQUEST, startedAt: performance.now() })
  recordInvalidRequest(ctx, { peer: '192.0.2.8', status: 400 })
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('the access log', () => {
  it('has method, route, path pattern, status, duration, request id, workspace and peer, at level info', () => {
    const [line, invalid] = record(true)
    const { ms, ...rest } = line ?? {}
    assert.deepEqual(rest, { level: 30, ...REQUEST, msg: 'request' })
    assert.isAtLeast(Number(ms), 0)
    assert.deepEqual(invalid, {
      level: 30,
      route: 'none',
      path: null,
      status: 400,
      workspaceId: null,
      peer: '192.0.2.8',
      msg: 'request',
    })
  })
  it('is empty with ACCESS_LOG=false', () => assert.deepEqual(record(false), []))
})
