import { assert } from 'chai'
import { createEncryption } from '#src/crypto/encryption.ts'
import { newId } from '#src/platform/id.ts'
import { fileLink, readFileToken } from './file-links.ts'

const [old, current] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const tokenOf = (link: string): string => link.slice(link.lastIndexOf('/') + 1)

describe('links to files of received mail', () => {
  const ref = { emailId: newId(), n: 7, expiresAt: new Date('2031-01-02T03:04:05Z') }
  const encryption = createEncryption(current)
  const token = tokenOf(fileLink('https://mail.example', encryption, ref))

  it('name the mail, the file and the time', () => assert.deepEqual(readFileToken(encryption, token), ref))

  it('work after a rotation of the master key', () => {
    const before = tokenOf(fileLink('https://mail.example', createEncryption(old), ref))
    assert.deepEqual(readFileToken(createEncryption(current, old), before), ref)
    assert.isNull(readFileToken(encryption, before))
  })

  it('cannot be changed at any place', () => {
    for (let i = 0; i < token.length - 1; i++) {
      const other = token[i] === 'A' ? 'B' : 'A'
      assert.isNull(readFileToken(encryption, token.slice(0, i) + other + token.slice(i + 1)), `at ${i}`)
    }
    for (const wrong of ['', 'A', token.slice(1), `${token}A`, '/'.repeat(51)])
      assert.isNull(readFileToken(encryption, wrong))
  })
})
