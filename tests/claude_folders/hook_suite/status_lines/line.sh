#!/bin/sh
echo status
