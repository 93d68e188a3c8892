import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { readBlockable } from './blocked-links.ts'
import { createLinks } from './links.ts'

const links = createLinks({
  encryption: createEncryption(Buffer.alloc(32, 7)),
  config: { bounceDomain: 'b.example', hostedMailUrl: null },
})
const messageId = newId()
const REF = {
  base: 'https://t.op.example',
  messageId,
  n: 1,
  workspaceId: newId(),
  senderId: newId(),
  contactId: null,
  audienceId: null,
}

describe('what the operator may block', () => {
  const CASES: readonly (readonly [text: string, kind: string, subject: string])[] = [
    [links.click(REF, 'https://Evil.example/a?b=1#c'), 'url', 'https://evil.example/a?b=1'],
    [links.view(REF), 'mail', messageId],
    [`${links.view(REF)}?hosted=1`, 'mail', messageId],
    [' https://evil.example/x#y ', 'url', 'https://evil.example/x'],
    ['https://evil.example', 'url', 'https://evil.example/'],
    ['Evil.Example', 'host', 'evil.example'],
    ['bücher.example', 'host', 'xn--bcher-kva.example'],
    ['https://other.example/c/x/eA', 'url', 'https://other.example/c/x/eA'],
  ]
  for (const [text, kind, subject] of CASES)
    it(`${text} is the ${kind} ${subject}`, () => assert.deepEqual(readBlockable(text), { kind, subject }))
  for (const text of ['', ' ', 'a b', 'javascript:alert(1)', 'ftp://a.example/', '/c/x/y', 'a@b.example', newId()])
    it(`${JSON.stringify(text)} is nothing`, () => assert.strictEqual(readBlockable(text), null))
})
