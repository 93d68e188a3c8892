/**
 * Builds the dashboard: `npm run build:dashboard` writes `dashboard/dist`, which the api serves. For development,
 * `npx vite dashboard` serves the sources with updates in place and passes requests of the API to
 * MAILSTEAD_URL (http://localhost:3000).
 */
import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const api = process.env['MAILSTEAD_URL'] ?? 'http://localhost:3000'
const PASSED_ON = ['/api', '/join', '/reset', '/auth', '/docs', '/openapi.json', '/inbound-files']

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), tailwindcss()],
  server: {
    port: 5173,
    proxy: Object.fromEntries(PASSED_ON.map((path) => [path, { target: api, changeOrigin: true }])),
  },
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    // data: URLs of small files would need an exception in the policy
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
  },
})
