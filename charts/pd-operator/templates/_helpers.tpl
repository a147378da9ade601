{{- define "pd-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Release "pd-operator" gives "pd-operator", any other release "RELEASE-pd-operator". */}}
{{- define "pd-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "pd-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "pd-operator.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A Deployment's selector can't change, so it has no version in it. */}}
{{- define "pd-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "pd-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pd-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "pd-operator.selectorLabels" . }}
app.kubernetes.io/component: operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "pd-operator.serviceAccountName" -}}
{{- default (include "pd-operator.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "pd-operator.leaseName" -}}
{{- include "pd-operator.fullname" . -}}
{{- end -}}

{{/* A ClusterRole of a second release must not be the first one's: names of cluster-wide objects carry the namespace. */}}
{{- define "pd-operator.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "pd-operator.fullname" .) | trunc 253 | trimSuffix "-" -}}
{{- end -}}

{{/* Takes {image, key, target, context}. There is no public image to fall back to, so an unset one says how to get it. */}}
{{- define "pd-operator.image" -}}
{{- $repository := required (printf "%s.repository is not set: build the image with `docker build --target %s -t REGISTRY/pd-%s:TAG .`, push it, and name it here" .key .target .target) .image.repository -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .context.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What the operator may do in a namespace it watches: the same rules in the ClusterRole and in each Role. */}}
{{- define "pd-operator.rules" -}}
- apiGroups: [pdoperator.io]
  resources: [pddeployments]
  verbs: [get, list, watch]
- apiGroups: [pdoperator.io]
  resources: [pddeployments/status]
  verbs: [get, patch]
# Only for clusters that check blockOwnerDeletion (admission plugin OwnerReferencesPermissionEnforcement; OpenShift).
- apiGroups: [pdoperator.io]
  resources: [pddeployments/finalizers]
  verbs: [update]
# Server-side apply is a patch, and a create when the object isn't there yet; it never needs update.
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
# Pods belong to their StatefulSets and Deployments: read, never touched.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}
