import './styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from '#dashboard/src/shell/app.tsx'
import { applyCspNonce } from '#dashboard/src/ui/csp-nonce.ts'
import { router } from './router.tsx'

applyCspNonce()
const root = document.querySelector('#root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App router={router} />
    </StrictMode>,
  )
