/**
 * A workspace that has used up its compile time (compile-budget.test.ts): every endpoint that compiles responds 429
 * with the time to wait, before it does any work. The time that real templates need depends on the machine, so the
 * budget is given.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { assert } from 'chai'
import Koa from 'koa'
import { ROUTES } from '#api/table.ts'
import type { ApiContext } from './context.ts'
import { isRefusal, sendRefusal } from './response.ts'
import type { AnyRequest } from './route.ts'

const WAIT_SECONDS = 42
const TEMPLATE = { name: 'T', subject: 'S', body: '<p>x</p>' }

describe('the compile time of a workspace', () => {
  for (const name of ['save-template', 'preview-template', 'check-template', 'save-partial'])
    it(`${name} responds 429 with Retry-After when it is used up`, async () => {
      const ctx = { renderer: { compileWait: (id: string) => (id === 'w' ? WAIT_SECONDS : null) } }
      const request = { caller: { workspaceId: 'w' }, body: TEMPLATE, params: {}, query: {} }
      const found = ROUTES.find((route) => route.name === name)
      const result = await found?.handle(ctx as unknown as ApiContext, request as unknown as AnyRequest)
      assert.ok(result !== undefined && isRefusal(result), 'it is refused')

      const koa = new Koa().use((one) => sendRefusal(one, result, { requestId: 'r', publicUrl: 'http://x' }))
      const server = createServer((incoming, response) => void koa.callback()(incoming, response)).listen(
        0,
        '127.0.0.1',
      )
      await once(server, 'listening')
      try {
        const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
        const body = (await response.json()) as Record<string, unknown>
        assert.deepEqual(
          [response.status, response.headers.get('retry-after'), body['error'], body['reason']],
          [429, String(WAIT_SECONDS), 'RATE_LIMITED', 'client_rate'],
        )
        assert.match(String(body['message']), /Wait 42 s; split the largest MJML template/)
      } finally {
        server.close()
      }
    })
})
