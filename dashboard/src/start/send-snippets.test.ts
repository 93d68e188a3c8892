import { execFileSync } from 'node:child_process'
import { assert } from 'chai'
import { sendSnippets } from './send-snippets.ts'

const INPUT = { origin: 'http://localhost:2500', from: 'Shop <hello@example.com>', to: `o'neil$HOME@example.com` }

function codeOf(key: string): string {
  return sendSnippets(INPUT).find((one) => one.key === key)?.code ?? ''
}

describe('dashboard: code that sends a message', () => {
  it('the shell gives curl the message as it is, with quotes and dollar signs', () => {
    const program = `curl() { printf '%s' "$8"; }\n${codeOf('curl')}`
    const sent = execFileSync('sh', ['-c', program], { env: { MAILSTEAD_KEY: 'key' } }).toString()
    assert.include(JSON.parse(sent), { from: INPUT.from, to: INPUT.to })
  })

  it('Node.js sends the message to the endpoint with the key', () => {
    const fetchFake = `globalThis.fetch = async (url, request) => {
      console.log(JSON.stringify({ url, ...request }))
      return { status: 202, json: async () => ({}) }
    }`
    const program = `${fetchFake}\n${codeOf('node')}`
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      env: { MAILSTEAD_KEY: 'key' },
    }).toString()
    const { url, headers, body } = JSON.parse(output.split('\n')[0] ?? '') as {
      url: string
      headers: Record<string, string>
      body: string
    }
    assert.strictEqual(url, 'http://localhost:2500/api/v1/send-email/instant')
    assert.strictEqual(headers['Authorization'], 'Bearer key')
    assert.include(JSON.parse(body), { from: INPUT.from, to: INPUT.to })
  })

  it('PHP replaces nothing in the addresses', () => {
    assert.include(codeOf('php'), String.raw`'to' => 'o\'neil$HOME@example.com'`)
  })

  it('Python has the addresses as strings', () => {
    assert.include(codeOf('python'), `"to": "o'neil$HOME@example.com"`)
  })
})
