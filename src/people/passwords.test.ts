import { assert } from 'chai'
import { checkPassword, findPasswordProblem, hashPassword, MAX_PASSWORD } from './passwords.ts'

const EMAIL = 'anna.long-name@example.org'

describe('passwords', () => {
  it('are argon2id in PHC format, with a salt of their own', async () => {
    const [first, second] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
    assert.match(first ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    assert.notEqual(first, second)
    assert.deepEqual(await checkPassword('correct horse', first), { kind: 'right', isOutdated: false })
    assert.deepEqual(await checkPassword('correct horsf', first), { kind: 'wrong' })
  })
  it('with other parameters are verified, and are to be hashed again', async () => {
    const stored = '$argon2id$v=19$m=4096,t=3,p=1$c29tZXNhbHQxMjM0NTY3OA$x5kEBiQp3Ngj1pdXuF646iEBdtSTS7fYe4E1LLhbsw0'
    assert.deepEqual(await checkPassword('password', stored), { kind: 'right', isOutdated: true })
  })
  it('are equal in all Unicode forms of the same characters', async () => {
    const stored = await hashPassword('Zoë läuft über Straßen')
    assert.equal((await checkPassword('Zoë läuft über Straßen'.normalize('NFD'), stored)).kind, 'right')
  })
  it('of an unknown user are wrong, whatever they are', async () => {
    assert.deepEqual(await checkPassword('correct horse', null), { kind: 'wrong' })
  })

  const CASES: readonly [password: string, problem: RegExp | null][] = [
    ['correct horse', null],
    ['🐴🔋📎🧷🐴🔋📎🧷🐴🔋📎🧷', null],
    ['short', /at least 12/],
    ['x'.repeat(MAX_PASSWORD + 1), /at most 200/],
    ['aaaaaaaaaaaaaaaa', /repeats/],
    ['correct\nhorse-x', /control/],
    [EMAIL.toUpperCase(), /is your email/],
    ['anna.long-name', /is your email/],
  ]
  for (const [password, problem] of CASES)
    it(`${JSON.stringify(password.slice(0, 30))} ${problem === null ? 'is accepted' : 'is refused'}`, () => {
      const found = findPasswordProblem(password, { email: EMAIL })
      if (problem === null) assert.isNull(found)
      else assert.match(found ?? '', problem)
    })
})
