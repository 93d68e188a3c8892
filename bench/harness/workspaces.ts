/** Creates workspaces with a key each in the database: the two commands for each would take minutes. */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { Client } from 'pg'

const INSERT_WORKSPACE = `INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, 'streams', 'enterprise')`
const INSERT_KEY = `INSERT INTO api_keys (id, workspace_id, kind, name, secret_hash) VALUES ($1, $1, 'admin', 'k', $2)`

/** Admin keys without scopes, of new workspaces. */
export async function createWorkspaces(databaseUrl: string, count: number): Promise<string[]> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const keys: string[] = []
    while (keys.length < count) {
      const id = randomUUID()
      const part = id.replaceAll('-', '')
      const key = `ms_${part}.adm_${randomBytes(32).toString('hex')}`
      await client.query(INSERT_WORKSPACE, [id, part])
      await client.query(INSERT_KEY, [id, hash('sha256', key, 'buffer')])
      keys.push(key)
    }
    return keys
  } finally {
    await client.end()
  }
}
